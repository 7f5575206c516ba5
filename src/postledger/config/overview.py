"""The help of `postledger`: our commands with one line each; Django's own by name only.

Their sources are read, not imported: all commands together load nearly everything.
"""

import ast
from pathlib import Path

import django

_COMMANDS = "management/commands/[a-z]*.py"


def text() -> str:
    ours = sorted(Path(__file__).parents[1].glob(f"*/{_COMMANDS}"), key=lambda path: path.stem)
    core = Path(django.__path__[0]) / "core"
    djangos = sorted(path.stem for path in core.glob(_COMMANDS))
    return "\n".join(
        [
            "Usage: postledger COMMAND [OPTIONS]",
            "       postledger COMMAND --help",
            "",
            "Commands:",
            *(f"  {path.stem.replace('_', '-'):<14}{_read_help(path)}" for path in ours),
            "",
            f"Django's own commands: {', '.join(djangos)}.",
        ]
    )


def _read_help(path: Path) -> str:
    """What the class in the module of a command has as its `help`."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        match node:
            case ast.Assign(targets=[ast.Name("help")], value=ast.Constant(str(line))):
                return line
            case _:
                pass
    raise LookupError(f"{path} has no help")
