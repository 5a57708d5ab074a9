"""`torchrun`, except that it dies with the process that started it."""

from torch.distributed.run import main

from tests.benchmarks.against_torchrun.noted import die_with_parent

if __name__ == "__main__":
    die_with_parent()
    main()
