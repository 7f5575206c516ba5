"""Checks a request of mail/send against Twilio's own OpenAPI.

The file beside this module is Twilio's, under the MIT licence, as github.com/twilio/sendgrid-oai
has it.
"""

import json
from functools import cache
from importlib.resources import files

from jsonschema_rs import Draft202012Validator, ValidationError, ValidationErrorKind

from tools.fakes.sendgrid.errors import Issue

_FILE = "mail_v3.openapi.json"
_BODY = "#/components/requestBodies/PostMailSend/content/application~1json/schema"
_MAX_ISSUES = 20


def find_issues(document: object) -> list[Issue]:
    """What Twilio's schema has against a document."""
    validator = _compile()
    if validator.is_valid(document):
        return []
    errors = list(validator.iter_errors(document))
    return [_describe(error) for error in errors[:_MAX_ISSUES]]


@cache
def _compile() -> Draft202012Validator:
    api = json.loads(files(__package__).joinpath(_FILE).read_bytes())
    schema = {"$ref": _BODY, "components": api["components"]}
    return Draft202012Validator(schema, validate_formats=True)


def _describe(error: ValidationError) -> Issue:
    path = [str(part) for part in error.instance_path]
    match error.kind:
        case ValidationErrorKind.Required(property=name):
            return Issue(f"The {name} field is required.", ".".join([*path, name]))
        case ValidationErrorKind.Format(format="email"):
            return Issue("Does not contain a valid address.", ".".join(path))
        case _:
            return Issue(f"Invalid type or value: {error.message[:200]}.", ".".join(path) or None)
