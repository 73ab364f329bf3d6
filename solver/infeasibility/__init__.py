"""Why no plan exists, and which changes would allow one."""
