"""What `make demo` shows: a busy evening of the food-delivery app, with everything that usually goes wrong in one."""
