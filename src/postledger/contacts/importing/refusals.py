"""What is said when a file, its columns or an import itself cannot be worked with."""

from postledger.lib.errors import RefusedError


class FileRefusedError(RefusedError):
    code = "invalid_import_file"


class InvalidMappingError(RefusedError):
    code = "invalid_mapping"


class ImportUnknownError(RefusedError):
    code = "import_unknown"


class FileChangedError(RefusedError):
    code = "import_file_changed"


class ImportMovedError(RefusedError):
    code = "import_moved"


class ImportNotReadyError(RefusedError):
    code = "import_not_ready"


class ImportAbandonedError(RefusedError):
    code = "import_abandoned"
