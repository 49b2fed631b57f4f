"""Quality of an assembly, by a reference genome and by its reads.

`assess` reads the contigs of an answer folder, aligns them to a reference and returns an
assessment; `write` puts it next to the answer, where a report finds it. Terms and bounds are those
of QUAST (Mikheenko et al. 2018), so the numbers can be compared with published ones.

Safe to change: what is measured in addition. What breaks: a term of QUAST with another bound
cannot be compared with published numbers.
"""

from __future__ import annotations

from cuesta.assess.assessment import FILE_NAME, Plan, assess, write

__all__ = ["FILE_NAME", "Plan", "assess", "write"]
