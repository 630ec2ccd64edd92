"""What is released: the wheel, versions, licences, systems other than this one."""
