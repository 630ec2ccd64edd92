"""The jobs of a batch on Dask distributed. A worker analyses in processes of its own, as this machine does."""

from __future__ import annotations

import importlib.util
import ipaddress
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from wlanlens import operating_system
from wlanlens.capture import decryption_keys
from wlanlens.capture.decryption_keys import Keys
from wlanlens.errors import WlanlensError, WrongUse
from wlanlens.formatting import printable
from wlanlens.pipeline.batch.job import ATTEMPTS, Job, Row, finish_failed
from wlanlens.pipeline.batch.local_workers import ForkServer
from wlanlens.pipeline.description import version

if TYPE_CHECKING:
    from distributed import Client

Item = TypeVar("Item")
Result = TypeVar("Result")

#: The cluster of this machine.
LOCAL = "local"
#: Time to reach a scheduler, s.
_CONNECT_S = 10


@dataclass(frozen=True)
class Security:
    """Files of certificates in PEM, for a scheduler at `tls://`.

    Attributes
    ----------
    ca : str
        The authority that signed the certificates of scheduler, workers and client.
    cert, key : str
        The certificate of this client, and its private key.
    """

    ca: str
    cert: str
    key: str


def check(scheduler: str, security: Security | None, keys: Keys) -> None:
    """Check an address before anything is sent there.

    Raises
    ------
    WlanlensError
        Dask is not installed, the address is not valid, certificates are missing, or keys would leave this process.
    """
    if importlib.util.find_spec("distributed") is None:
        raise WlanlensError("--scheduler needs Dask distributed", next="pip install 'wlanlens[cluster]'")
    if keys and _is_foreign(keys):
        raise WrongUse(
            "keys do not cross a scheduler",
            next="give --key-file, which the workers read, or set WLANLENS_KEYS for them",
        )
    if scheduler == LOCAL:
        return
    scheme = scheduler.partition("://")[0]
    if scheme not in ("tcp", "tls") or not host(scheduler):
        raise WrongUse(
            f"{printable(scheduler)!r} is no scheduler", next="expected local, tcp://HOST:PORT or tls://HOST:PORT"
        )
    if scheme == "tls" and security is None:
        raise WrongUse("tls:// needs certificates", next="give --tls-ca, --tls-cert and --tls-key")


def _is_foreign(keys: Keys) -> bool:
    """Whether there are keys that a worker with the same environment would not have."""
    return bool(set(keys.for_core()) - set(decryption_keys.from_environment().for_core()))


def host(scheduler: str) -> str:
    """The host of an address; empty if it has none."""
    try:
        return urlsplit(scheduler).hostname or ""
    except ValueError:
        return ""


def is_open(scheduler: str) -> bool:
    """Whether an address is neither encrypted nor on this machine: everyone who reaches it can run programs there."""
    if scheduler == LOCAL or scheduler.startswith("tls://"):
        return False
    name = host(scheduler)
    with suppress(ValueError):
        return not ipaddress.ip_address(name).is_loopback
    return name != "localhost"


def run(jobs: Sequence[Job], scheduler: str, count: int | None, security: Security | None) -> Iterator[Row]:
    """Yield the row of each job as it ends. Rows of about 1 KB are all that crosses the scheduler."""
    with ExitStack() as stack:
        if not jobs:
            return
        client = _client(stack, scheduler, count, security)
        stack.callback(_end_servers, client)
        for job, future in _ended(stack, client, _analyse, jobs, scheduler):
            if _died(future):
                yield finish_failed(job, job.row("killed", "the worker that analysed it died"))
            else:
                yield _result(future)


def spread(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    scheduler: str,
    count: int | None,
    security: Security | None,
) -> Iterator[tuple[Item, Result]]:
    """Yield (item, work(item)) in order of completion, as `simulation.worker_pool.sweep` does on this machine.

    Raises
    ------
    WlanlensError
        The scheduler cannot be reached, a worker has another version, fails, or dies `ATTEMPTS` times at one item.
    """
    with ExitStack() as stack:
        if not items:
            return
        client = _client(stack, scheduler, count, security)
        for item, future in _ended(stack, client, partial(_work, work), items, scheduler):
            if _died(future):
                raise WlanlensError(f"a worker of the cluster died {ATTEMPTS} times at {item!r:.300}")
            yield item, _result(future)


def _ended(
    stack: ExitStack, client: Client, work: Callable[..., Any], items: Sequence[Item], scheduler: str
) -> Iterator[tuple[Item, Any]]:
    """Yield each item with its future when that has ended. As many are submitted at a time as the workers have threads."""
    from distributed import as_completed

    told = client.scheduler_info(n_workers=-1)["workers"].values()
    # One item a thread: Dask suspects every item that a dead worker had, also those that only waited there.
    threads = sum(int(worker["nthreads"]) for worker in told)
    if not threads:
        raise WlanlensError("the scheduler has no workers", path=printable(scheduler))
    left = enumerate(items)
    futures: dict[str, Item] = {}

    def submit() -> Any:
        for number, item in left:
            future = client.submit(work, item, version(), key=f"wlanlens-{id(items):x}-{number}", pure=False)
            futures[str(future.key)] = item
            return future
        return None

    first = [made for _ in range(min(threads, len(items))) if (made := submit())]
    arriving: Any = as_completed(first)  # type: ignore[no-untyped-call]
    stack.callback(arriving.clear)
    for future in arriving:
        yield futures.pop(str(future.key)), future
        if (more := submit()) is not None:
            arriving.add(more)


def _died(future: Any) -> bool:
    """Whether workers died at a future's item."""
    from distributed.scheduler import KilledWorker

    return future.status == "error" and isinstance(future.exception(), KilledWorker)


def _result(future: Any) -> Any:
    """The result of a future, or its error as one of ours."""
    error = future.exception() if future.status == "error" else None
    if error is None:
        return future.result()
    if isinstance(error, WlanlensError):
        raise error
    raise WlanlensError(f"a worker failed: {printable(f'{type(error).__name__}: {error}')}") from error


def _client(stack: ExitStack, scheduler: str, count: int | None, security: Security | None) -> Client:
    """A client of a running scheduler, or of a cluster of this machine that listens on the loopback interface only."""
    import dask
    from distributed import Client, LocalCluster
    from distributed.security import Security as Certificates

    # A scheduler of our own reads them when it starts.
    settings = {"distributed.scheduler.allowed-failures": ATTEMPTS - 1, "distributed.scheduler.worker-saturation": 1.0}
    stack.enter_context(dask.config.set(settings))
    if scheduler == LOCAL:
        cluster = LocalCluster(  # type: ignore[no-untyped-call]
            n_workers=count or operating_system.cores(),
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address=None,
            memory_limit=0,
            silence_logs="CRITICAL",
        )
        local: Client = stack.enter_context(Client(stack.enter_context(cluster)))  # type: ignore[no-untyped-call]
        local.run(_ignore_interrupts)
        return local
    certificates = None
    if security is not None:
        certificates = Certificates(  # type: ignore[no-untyped-call]
            tls_ca_file=security.ca,
            tls_client_cert=security.cert,
            tls_client_key=security.key,
            require_encryption=True,
        )
    try:
        client: Client = stack.enter_context(Client(scheduler, security=certificates, timeout=_CONNECT_S))  # type: ignore[no-untyped-call]
    except OSError as error:
        raise WlanlensError(f"the scheduler cannot be reached: {error}", path=printable(scheduler)) from error
    return client


def _ignore_interrupts() -> None:
    """In a worker of our own cluster: Ctrl-C of the terminal reaches it too, but the main process ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


#: The fork servers of this worker, one for each of its threads.
_servers: list[ForkServer] = []
_of_thread = threading.local()


def _analyse(job: Job, wanted: str) -> Row:
    """In a worker: analyse a job in a process of its own."""
    _check_version(wanted)
    if not hasattr(_of_thread, "server") or _of_thread.server.ended:
        _of_thread.server = ForkServer(decryption_keys.from_environment())
        _servers.append(_of_thread.server)
    (row,) = _of_thread.server.run([job])
    return dict(row)


def _work(work: Callable[[Item], Result], item: Item, wanted: str) -> Result:
    """In a worker: work on an item."""
    _check_version(wanted)
    return work(item)


def _check_version(wanted: str) -> None:
    if version() != wanted:
        raise WlanlensError(
            f"a worker has wlanlens {version()}, not {wanted}", next="install the same version everywhere"
        )


def _end_worker() -> None:
    """In a worker: end the fork servers, and what they analyse."""
    while _servers:
        _servers.pop().close()


def _end_servers(client: Client) -> None:
    """End the fork servers of all workers. A worker that is gone has none."""
    with suppress(Exception):
        client.run(_end_worker, on_error="ignore")
