"""What the forms of our pages share: how fields look, the focus, addresses, numbers, passwords."""

from collections.abc import Mapping
from typing import Any, ClassVar, override

from django import forms
from django.contrib.auth import password_validation
from django.core.exceptions import ValidationError
from django.forms.boundfield import BoundField, BoundWidget
from django.forms.renderers import DjangoTemplates
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy

from postledger.accounts import constraints
from postledger.accounts.constraints import InvalidNameError
from postledger.accounts.models import User
from postledger.providers import addresses
from postledger.web.dashboard import typed_numbers

_CLASSES: Mapping[type[forms.Widget], str] = {
    forms.Select: "select",
    forms.RadioSelect: "",
    forms.CheckboxInput: "",
    forms.CheckboxSelectMultiple: "",
    forms.HiddenInput: "",
}


class PageField(BoundField):
    """A field of any form, also of allauth's: the first wrong one of a refused form has the focus.

    Who does not see the page learns at once what is to be mended; others need not look for it.
    """

    @property
    def has_focus(self) -> bool:
        wrong = (name for name in self.form.fields if name in self.form.errors)
        return self.name == next(wrong, "") and not getattr(self.form, "yields_focus", False)

    @override
    def build_widget_attrs(
        self, attrs: dict[str, Any], widget: forms.Widget | None = None
    ) -> dict[str, Any]:
        focus = {"autofocus": True} if self.has_focus else {}
        return {**super().build_widget_attrs(attrs, widget), **focus}

    @cached_property
    @override
    def subwidgets(self) -> list[BoundWidget]:
        """Of the boxes of a group the first one has the focus."""
        boxes: list[BoundWidget] = super().subwidgets
        for box in boxes[1:]:
            box.data["attrs"].pop("autofocus", None)
        return boxes


class PageRenderer(DjangoTemplates):
    bound_field_class = PageField


class PageForm(forms.Form):
    """A form whose fields have the classes of the style sheets.

    Its fields are in the order of the page.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})
        for field in self.fields.values():
            css = _CLASSES.get(type(field.widget), "input")
            if css:
                field.widget.attrs.setdefault("class", css)
            if type(field.widget) is forms.Select:
                field.widget.template_name = "dashboard/components/select.html"

    @property
    def yields_focus(self) -> bool:
        """Whether what a person mends first is no field of this form."""
        return False


class AddressField(forms.CharField):
    """An email address as the ledger can mail it."""

    widget = forms.EmailInput

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=254, **options)

    @override
    def clean(self, value: Any) -> str:
        text: str = super().clean(value)
        if not text:
            return ""
        try:
            return addresses.canonical(text)
        except addresses.InvalidAddressError:
            raise ValidationError(
                gettext_lazy("This is not an email address. Write it as name@example.com."),
                code="invalid",
            ) from None


class _BoundedField(forms.IntegerField):
    """A number whose limits are said with all their digits."""

    default_error_messages: ClassVar[dict[str, Any]] = {
        "min_value": gettext_lazy("At least %(limit_value)s."),
        "max_value": gettext_lazy("At most %(limit_value)s."),
    }

    @override
    def run_validators(self, value: Any) -> None:
        try:
            super().run_validators(value)
        except ValidationError as refused:
            for error in refused.error_list:
                if error.params:
                    limit = typed_numbers.write_decimal(error.params["limit_value"])
                    error.params["limit_value"] = limit
            raise


class WholeNumberField(_BoundedField):
    """A whole number as people type it, perhaps with separated thousands."""

    # A field of the type "number" reads what was typed by rules of the browser's language.
    widget = forms.TextInput

    def __init__(self, *, example: str = "", **options: Any) -> None:
        super().__init__(**options)
        self.example = example  # of a number that has no thousands

    @override
    def to_python(self, value: Any) -> int | None:
        if isinstance(value, str):
            value = value.strip() and typed_numbers.spell_whole(value, example=self.example)
        return super().to_python(value)

    @override
    def widget_attrs(self, widget: forms.Widget) -> dict[str, Any]:
        has_sign = self.min_value is None or self.min_value < 0  # such a keyboard has none
        own = {} if has_sign else {"inputmode": "numeric"}
        return {**super().widget_attrs(widget), "autocomplete": "off", **own}


class DecimalField(_BoundedField, forms.FloatField):
    """A number with a decimal point or a decimal comma; it is shown with all its digits."""

    widget = forms.TextInput

    @override
    def to_python(self, value: Any) -> Any:
        if isinstance(value, str):
            value = value.strip() and typed_numbers.spell_decimal(value)
        return super().to_python(value)

    @override
    def prepare_value(self, value: Any) -> Any:
        return typed_numbers.write_decimal(value) if isinstance(value, float) else value

    @override
    def widget_attrs(self, widget: forms.Widget) -> dict[str, Any]:
        return {**super().widget_attrs(widget), "autocomplete": "off", "inputmode": "decimal"}


class ReasonField(forms.CharField):
    """Why a person decides so about somebody; the history of the contact keeps it."""

    def __init__(self, *, required: bool = True) -> None:
        super().__init__(
            label=gettext_lazy("Reason") if required else gettext_lazy("Reason (optional)"),
            required=required,
            max_length=500,
            help_text=gettext_lazy("Such as: wrote to us on 1 May. It stays in the history."),
        )


class PersonForm(PageForm):
    """Somebody who is about to get a password: its rules look at the name and the address too."""

    name = forms.CharField(
        label=gettext_lazy("Your name"),
        max_length=constraints.LONGEST_NAME,
        widget=forms.TextInput({"autocomplete": "name"}),
    )
    password = forms.CharField(
        label=gettext_lazy("Password"),
        strip=False,
        max_length=1000,
        help_text=gettext_lazy("At least 12 characters."),
        widget=forms.PasswordInput({"autocomplete": "new-password"}),
    )

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        try:
            constraints.check_name("a person", name)
        except InvalidNameError:
            raise ValidationError(
                gettext_lazy("Use printable characters only."), code="invalid"
            ) from None
        return name

    def check_password(self, email: str) -> None:
        """Puts what is wrong with the password beside it."""
        person = User(email=email, name=self.cleaned_data.get("name", ""))
        try:
            password_validation.validate_password(self.cleaned_data.get("password", ""), person)
        except ValidationError as error:
            self.add_error("password", error)
