# Boards, and cloud instances with their devices.
list machines
