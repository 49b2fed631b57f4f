# Copyright Spack Project Developers. See COPYRIGHT file for details.
#
# SPDX-License-Identifier: (Apache-2.0 OR MIT)

from spack.package import *
from spack_repo.builtin.build_systems.python import PythonPackage


class PyCuesta(PythonPackage):
    """Data-intensive science at hardware speed: verified answers, measured ceilings."""

    homepage = "@BASE@"
    url = "@BASE@/cuesta-0.2.0.tar.gz"

    license("Apache-2.0")

    version("0.2.0", sha256="@SHA256@")

    depends_on("c", type="build")
    depends_on("rust@1.91:", type="build")
    depends_on("py-maturin@1.16:1", type="build")

    depends_on("python@3.11:", type=("build", "run"))
    depends_on("py-jinja2@3.1:3", type=("build", "run"))
    depends_on("py-pooch@1.9:1", type=("build", "run"))
    depends_on("py-rich@15", type=("build", "run"))
    depends_on("py-typer@0.29:0", type=("build", "run"))

    def test_version(self):
        """The command runs"""
        which(self.prefix.bin.cuesta)("--version")
