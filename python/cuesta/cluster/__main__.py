"""`python -m cuesta.cluster lead|agent ...`: the processes inside an allocation."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the leader or an agent, as the first word names."""
    part, *words = sys.argv[1:]
    if part == "lead":
        from cuesta.cluster import leader

        return leader.main(words)
    if part == "agent":
        from cuesta.cluster import agent

        return agent.main(words)
    sys.stderr.write(f"cuesta.cluster: {part!r} is not known, give lead or agent\n")
    return 2


if __name__ == "__main__":
    sys.exit(main())
