"""Errors of imports: in the file, in the mapping of its columns, or by the import's state."""

from postledger.lib.errors import ConflictError, NotFoundError, RefusedError


class FileRefusedError(RefusedError):
    code = "invalid_import_file"


class InvalidMappingError(RefusedError):
    code = "invalid_mapping"


class ImportUnknownError(NotFoundError):
    code = "import_unknown"


class FileChangedError(ConflictError):
    code = "import_file_changed"


class ImportMovedError(ConflictError):
    code = "import_moved"


class ImportNotReadyError(ConflictError):
    code = "import_not_ready"


class ImportAbandonedError(ConflictError):
    code = "import_abandoned"
