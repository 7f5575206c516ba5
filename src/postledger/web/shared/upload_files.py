"""Keeps a large file of a form without a name, so that no killed process leaves it behind."""

from tempfile import TemporaryFile
from typing import Any, override

from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import FileUploadHandler


class UnnamedFileUploadHandler(FileUploadHandler):
    """Takes what is too large for memory."""

    @override
    def new_file(self, *args: Any, **kwargs: Any) -> None:
        super().new_file(*args, **kwargs)
        self.file = UploadedFile(
            TemporaryFile(prefix="postledger-"),  # noqa: SIM115  Django closes it with the request
            self.file_name,
            self.content_type,
            0,
            self.charset,
            self.content_type_extra,
        )

    @override
    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        self.file.write(raw_data)

    @override
    def file_complete(self, file_size: int) -> UploadedFile:
        self.file.seek(0)
        self.file.size = file_size
        return self.file

    @override
    def upload_interrupted(self) -> None:
        if hasattr(self, "file"):
            self.file.close()
