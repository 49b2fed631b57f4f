"""The module file of Lmod: loading it brings the command, and unloading leaves nothing."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

import debian
import distributions

ROOT = Path(__file__).resolve().parents[2]
MODULEFILES = ROOT / "recipes" / "modulefiles"
PACKAGES = ("lmod", "lua5.3", "lua-posix", "lua-filesystem", "lua-term", "lua-json", "lua-lpeg")
PATH = "/usr/bin:/bin"


@pytest.fixture(scope="module")
def lmod(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command of Lmod, from Debian's packages; its places are below a folder here."""
    try:
        unpacked = debian.unpacked("lmod", PACKAGES)
    except debian.DebianError as error:
        pytest.skip(str(error))
    libraries = next(unpacked.glob("usr/lib/*-linux-gnu/lua/5.3"))
    program = unpacked / "usr" / "share" / "lmod" / "lmod" / "libexec" / "lmod"
    text = program.read_text()
    scripts = unpacked / "usr" / "share" / "lua" / "5.3"
    places = {"sys_lua_path": f"{scripts}/?.lua;{scripts}/?/init.lua"}
    places["sys_lua_cpath"] = f"{libraries}/?.so"
    for name, place in places.items():
        text = re.sub(rf'({name} *= *").*"', rf'\g<1>{place}"', text)
    # The program looks for its parts next to itself.
    program.with_name("lmod-here").write_text(text)
    return [str(unpacked / "usr/bin/lua5.3"), str(program.with_name("lmod-here")), "bash"]


def after(lmod: list[str], prefix: Path, words: str) -> dict[str, str]:
    """Variables of a shell after these commands of `module`, one after another."""
    script = "".join(f'eval "$({" ".join(lmod)} {word})"\n' for word in words.split(";"))
    libraries = next(Path(lmod[0]).parents[2].glob("usr/lib/*-linux-gnu"))
    names = {"MODULEPATH": str(MODULEFILES), "CUESTA_PREFIX": str(prefix), "PATH": PATH}
    done = subprocess.run(
        ["bash", "-ec", script + "env"],
        env=names | {"LD_LIBRARY_PATH": str(libraries), "HOME": str(prefix)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return dict(line.partition("=")[::2] for line in done.stdout.splitlines())


def test_the_file_has_the_version_of_the_release() -> None:
    assert [path.stem for path in MODULEFILES.rglob("*.lua")] == [distributions.version()]
    file = MODULEFILES / "cuesta" / f"{distributions.version()}.lua"
    assert f'whatis("Version: {distributions.version()}")' in file.read_text()


def test_loading_brings_the_command_and_settings_and_unloading_leaves_nothing(
    lmod: list[str], tmp_path: Path
) -> None:
    (tmp_path / "etc").mkdir()
    settings = tmp_path / "etc" / "cuesta.toml"
    settings.write_text("")
    loaded = after(lmod, tmp_path, "load cuesta")
    assert loaded["PATH"] == f"{tmp_path}/bin:{PATH}"
    assert loaded["CUESTA_SITE_CONFIG"] == str(settings)
    settings.unlink()
    assert "CUESTA_SITE_CONFIG" not in after(lmod, tmp_path, "load cuesta")
    unloaded = after(lmod, tmp_path, "load cuesta;unload cuesta")
    assert unloaded["PATH"] == PATH
    assert "CUESTA_SITE_CONFIG" not in unloaded
