"""How good an assembly is: beside a reference genome, and beside its reads.

`assess` reads the contigs of an answer folder, aligns them to a reference and returns an
assessment; `write` puts it beside the answer, where a report finds it. Terms and bounds are those
of QUAST (Mikheenko et al. 2018), so the numbers can be compared with what others publish.
"""

from __future__ import annotations

from cuesta.assess.assessment import FILE_NAME, Plan, assess, write

__all__ = ["FILE_NAME", "Plan", "assess", "write"]
