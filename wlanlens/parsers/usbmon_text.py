"""Text output of Linux's usbmon: /sys/kernel/debug/usb/usbmon/1u and 1t.

A line is a record of link type 220. The kernel writes at most 32 bytes of a transfer, too few for IP packets.
Format: Documentation/usb/usbmon.rst of Linux."""

from functools import partial

from wlanlens import _core
from wlanlens.registry import Container

unit = Container(
    "usbmon_text",
    __name__,
    __doc__,
    clock="microseconds modulo 4096 s (older kernels: 2^32) from an unknown day, shown as of 1970-01-01",
    sniff=partial(_core.is_format, "usbmon_text"),
    read=partial(_core.read_format, "usbmon_text"),
    linktypes=(220,),
)
