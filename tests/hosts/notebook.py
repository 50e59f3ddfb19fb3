"""A notebook without a page: `notebook.py CODE` runs a cell in a kernel, prints what it prints, and waits for SIGTERM.

Runs in an environment that has `jupyter_client` and `ipykernel`.
"""
import signal
import sys

from jupyter_client.manager import start_new_kernel


def main(code: str) -> None:
    """Start the kernel, run the cell, wait."""
    for each in (signal.SIGTERM, signal.SIGUSR1):
        signal.signal(each, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    manager, client = start_new_kernel(kernel_name="python3")
    try:
        client.execute_interactive(code, timeout=30)
        signal.sigwait([signal.SIGTERM])
    finally:
        client.stop_channels()
        manager.shutdown_kernel()


if __name__ == "__main__":
    main(sys.argv[1])
