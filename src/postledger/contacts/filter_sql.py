"""Compiles audience filters to SQL conditions that indexes serve, with values as parameters.

A condition is about `contact` and is never NULL, so that NOT selects exactly the other rows.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import LiteralString

from psycopg import sql as pg
from psycopg.sql import Composable, Composed

from postledger.accounts import hash_key
from postledger.contacts import reach
from postledger.contacts.filters.expressions import (
    All,
    AnyOf,
    AttributeField,
    Column,
    Comparison,
    Filter,
    InAllContacts,
    Named,
    Not,
    OnList,
    Op,
    Standing,
    Stands,
    simplify,
)
from postledger.providers import addresses

# What an attribute is when it is compared as a number; NULL if it is none. A text is one if it is
# written as JSON writes numbers without an exponent: imports store texts. CASE alone keeps texts
# that are none from the cast. An index that `index_advice` names has the same expression.
NUMBER: LiteralString = """
CASE jsonb_typeof({attributes} -> {key})
    WHEN 'number' THEN ({attributes} -> {key})::numeric
    WHEN 'string' THEN CASE
        WHEN ({attributes} ->> {key}) ~ '^-?(0|[1-9][0-9]*)([.][0-9]+)?$'
        THEN ({attributes} ->> {key})::numeric
    END
END
"""
# The texts that begin with a day that there is, and end there or go on with a time.
_DAY_PATTERN: LiteralString = (
    "^((?!0000)[0-9][0-9][0-9][0-9]-("
    "(0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])"
    "|(0[469]|11)-(0[1-9]|[12][0-9]|30)"
    "|02-(0[1-9]|1[0-9]|2[0-8]))"
    "|([0-9][0-9](0[48]|[2468][048]|[13579][26])|(0[48]|[2468][048]|[13579][26])00)-02-29)"
    "([T ][0-9][0-9]:[0-9][0-9].*)?$"
)
# What an attribute is when it is compared as a day; NULL if it is none. Beside a time it is the day
# as written, in whatever zone. Such texts are in the order of their days, so they need no cast,
# which an index would not take. An index that `index_advice` names has the same expression.
DAY: LiteralString = (
    """
CASE WHEN jsonb_typeof({attributes} -> {key}) = 'string'
    AND ({attributes} ->> {key}) ~ '"""
    + _DAY_PATTERN
    + """'
    THEN left({attributes} ->> {key}, 10) COLLATE "C"
END
"""
)
# The domain of an address. An index that `index_advice` names has the same expression.
DOMAIN: LiteralString = """split_part(lower({address}) COLLATE "C", '@', -1)"""
_LAST_LETTER = "\U0010ffff"


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on `contact`, and its parameters by name."""

    sql: Composed
    params: Mapping[str, object]


def compile_filter(audience: Filter, lists: Mapping[str, int]) -> Condition:
    """Compiles a filter; `lists` has the ids of all lists that it names.

    The statement around it has the parameter `workspace`.
    """
    compiler = _Compiler(lists)
    return Condition(compiler.top_level(simplify(audience)), compiler.params)


@dataclass(slots=True)
class _Compiler:
    lists: Mapping[str, int]
    params: dict[str, object] = field(default_factory=dict)

    def _value(self, value: object, kind: LiteralString) -> Composed:
        name = f"f{len(self.params)}"
        self.params[name] = value
        return pg.SQL("{}::" + kind).format(pg.Placeholder(name))

    def top_level(self, audience: Filter) -> Composed:
        """A condition that must hold in any case: here the planner can start from an index."""
        match audience:
            case All(parts) if parts:
                return _bracketed(pg.SQL(" AND ").join(self.top_level(part) for part in parts))
            case AnyOf(parts) if any(isinstance(part, OnList) for part in parts):
                return self._any_of_lists(parts)
            case _:
                return self._nested(audience)

    def _any_of_lists(self, parts: tuple[Filter, ...]) -> Composed:
        """As one set of ids: beside an OR, a list would make the planner read every contact."""
        members = [self._members(part) for part in parts if isinstance(part, OnList)]
        others = tuple(part for part in parts if not isinstance(part, OnList))
        if others:
            members.append(
                pg.SQL(
                    "SELECT contact.id FROM contacts_contact AS contact WHERE"
                    " contact.workspace_id = %(workspace)s::bigint AND {}"
                ).format(self._joined(" OR ", others))
            )
        # Not UNION ALL: the planner expects 200 different contacts of it, however many there are.
        return pg.SQL("contact.id IN ({})").format(pg.SQL(" UNION ").join(members))

    def _members(self, wanted: OnList) -> Composed:
        return pg.SQL("SELECT s.contact_id FROM contacts_subscription AS s WHERE {}").format(
            self._state_on_list(wanted)
        )

    def _nested(self, audience: Filter) -> Composed:  # noqa: PLR0911  one for each kind
        match audience:
            case All(parts):
                return self._joined(" AND ", parts) if parts else _bracketed(pg.SQL("true"))
            case AnyOf(parts):
                return self._joined(" OR ", parts)
            case Not(part):
                return pg.SQL("(NOT {})").format(self._nested(part))
            case OnList():
                return self._on_list(audience)
            case Named(words):
                return self._named(words)
            case Stands(standing):
                return _bracketed(pg.SQL(_STANDINGS[standing]))
            case InAllContacts(at):
                return self._in_all_contacts(at)
            case Comparison(AttributeField(key)):
                return self._attribute(key, audience.op, audience.value)
            case Comparison():
                return self._column(audience)

    def _joined(self, word: LiteralString, parts: tuple[Filter, ...]) -> Composed:
        return _bracketed(pg.SQL(word).join(self._nested(part) for part in parts))

    def _on_list(self, wanted: OnList) -> Composed:
        # Not IN (SELECT …): negated, or beside an OR, that reads a large list for each contact.
        return pg.SQL(
            "EXISTS (SELECT FROM contacts_subscription AS s WHERE s.contact_id = contact.id AND {})"
        ).format(self._state_on_list(wanted))

    def _state_on_list(self, wanted: OnList) -> Composed:
        """For one state, contacts_subscription_of_list has the contacts in the order of ids."""
        list_id = self._value(self.lists[wanted.key], "bigint")
        match wanted.states:
            case (state,):
                states = self._value(state.value, "text")
            case _:
                values = self._value([state.value for state in wanted.states], "text[]")
                states = pg.SQL("ANY ({})").format(values)
        return pg.SQL("s.list_id = {} AND s.state = {}").format(list_id, states)

    def _named(self, words: str) -> Composed:
        """The beginning of an address is served by contacts_contact_once."""
        address = pg.SQL('lower(contact.address) COLLATE "C"')
        if "@" in words[1:]:
            beginning = self._value(words, "text")
            begins = pg.SQL(
                "({address} >= lower({beginning}) AND {address} < lower({beginning}) || {last})"
            ).format(address=address, beginning=beginning, last=pg.Literal(_LAST_LETTER))
            return self._with_former(begins, words) if addresses.is_valid(words) else begins
        return pg.SQL(
            "({address} LIKE lower({pattern}) OR contact.name ILIKE {pattern}"
            " OR (contact.external_id IS NOT NULL AND contact.external_id = {words}))"
        ).format(
            address=address,
            pattern=self._value(write_pattern(Op.CONTAINS, words), "text"),
            words=self._value(words, "text"),
        )

    def _in_all_contacts(self, at: datetime) -> Composed:
        """Compared so that the planner expects nearly all active contacts."""
        self.params["hash_key"] = hash_key.read()
        return pg.SQL(_IN_ALL_CONTACTS).format(
            is_by_hand=pg.SQL(_IS_BY_HAND),
            reach=reach.join_reach(self._value(at, "timestamptz")),
            reasons=self._value(["by_hand", reach.LEFT_EVERY_LIST, reach.ON_BREAK], "text[]"),
        )

    def _with_former(self, begins: Composable, address: str) -> Composed:
        """As one set of ids: beside an OR, the planner may read every contact in its order.

        Served by contacts_contact_by_former.
        """
        return pg.SQL(
            "contact.id IN (SELECT contact.id FROM contacts_contact AS contact"
            " WHERE contact.workspace_id = %(workspace)s::bigint AND contact.deleted_at IS NULL"
            " AND {begins} UNION SELECT contact.id FROM contacts_contact AS contact"
            " WHERE contact.workspace_id = %(workspace)s::bigint"
            " AND contact.former_addresses @> ARRAY[lower({address})])"
        ).format(begins=begins, address=self._value(address, "text"))

    def _attribute(self, key: str, op: Op, value: object) -> Composed:
        items = value if isinstance(value, tuple) else (value,)
        match op:
            case Op.IS | Op.IN:
                return self._contained([{key: item} for item in items])
            case Op.HAS | Op.HAS_ANY:
                return self._contained([{key: [item]} for item in items])
            case Op.EXISTS:
                name = self._value(key, "text")
                word = pg.SQL("IS NOT NULL" if value else "IS NULL")
                return pg.SQL("((contact.attributes ->> {}) {})").format(name, word)
            case Op.STARTS_WITH | Op.CONTAINS:
                return self._text_within(key, write_pattern(op, str(value)))
            case Op.BEFORE | Op.SINCE if isinstance(value, date):
                return self._ordered(DAY, key, op, self._value(value.isoformat(), "text"))
            case _:
                return self._ordered(NUMBER, key, op, self._value(_json(value), "numeric"))

    def _contained(self, parts: list[dict[str, object]]) -> Composed:
        """Served by contacts_contact_by_attribute, one look-up for each part."""
        return _bracketed(
            pg.SQL(" OR ").join(
                pg.SQL("contact.attributes @> {}").format(self._value(_json(part), "jsonb"))
                for part in parts
            )
        )

    def _text_within(self, key: str, pattern: str) -> Composed:
        return pg.SQL(
            "(contact.attributes ->> {name} IS NOT NULL"
            " AND jsonb_typeof(contact.attributes -> {name}) = 'string'"
            " AND contact.attributes ->> {name} LIKE {pattern})"
        ).format(name=self._value(key, "text"), pattern=self._value(pattern, "text"))

    def _ordered(self, reading: LiteralString, key: str, op: Op, value: Composed) -> Composed:
        read = pg.SQL(reading).format(
            attributes=pg.SQL("contact.attributes"), key=self._value(key, "text")
        )
        return pg.SQL("(({read}) {op} {value} AND ({read}) IS NOT NULL)").format(
            read=read, op=pg.SQL(_OPERATORS[op]), value=value
        )

    def _column(self, test: Comparison) -> Composed:
        if test.field is Column.OCD_IDS:
            return self._ocd_ids(test.op, test.value)
        if test.field is Column.DOMAIN:
            return self._domain(test.value)
        op, value = test.op, test.value
        name = pg.Identifier("contact", str(test.field))
        match op:
            case Op.EXISTS:
                return pg.SQL("({} {})").format(name, pg.SQL("IS NOT NULL" if value else "IS NULL"))
            case Op.IN if isinstance(value, tuple):
                wanted = pg.SQL("ANY ({})").format(self._value(list(value), "text[]"))
            case Op.STARTS_WITH:
                wanted = self._value(write_pattern(op, str(value)), "text")
            case _:
                is_time = isinstance(value, datetime)
                wanted = self._value(value, "timestamptz" if is_time else "text")
        return pg.SQL("({name} IS NOT NULL AND {name} {op} {wanted})").format(
            name=name, op=pg.SQL(_OPERATORS[op]), wanted=wanted
        )

    def _domain(self, value: object) -> Composed:
        domain = pg.SQL(DOMAIN).format(address=pg.Identifier("contact", "address"))
        domains = list(value) if isinstance(value, tuple) else [value]
        return pg.SQL("({} = ANY ({}))").format(domain, self._value(domains, "text[]"))

    def _ocd_ids(self, op: Op, value: object) -> Composed:
        """Served by contacts_contact_by_place."""
        if op is Op.EXISTS:
            word = pg.SQL("<>" if value else "=")
            return pg.SQL("(contact.ocd_ids {} '{{}}')").format(word)
        ids = list(value) if isinstance(value, tuple) else [value]
        return pg.SQL("(contact.ocd_ids && {})").format(self._value(ids, "text[]"))


# By address, so that no contact has to be hashed. Never NULL, so that NOT IN can hold; served by
# contacts_suppression_by_hand.
_BY_HAND: LiteralString = """(
    SELECT lower(s.address) COLLATE "C" FROM contacts_suppression AS s
    WHERE s.workspace_id = %(workspace)s::bigint AND s.reason = 'by_hand'
      AND s.list_id IS NULL AND s.address IS NOT NULL
)"""
_IS_BY_HAND: LiteralString = 'lower(contact.address) COLLATE "C" IN ' + _BY_HAND
_NOT_BY_HAND: LiteralString = 'lower(contact.address) COLLATE "C" NOT IN ' + _BY_HAND
_STANDINGS: Mapping[Standing, LiteralString] = {
    Standing.MAILABLE: (
        "contact.state = 'active' AND NOT contact.is_unconfirmed AND " + _NOT_BY_HAND
    ),
    Standing.UNCONFIRMED: (
        "contact.state = 'active' AND contact.is_unconfirmed AND " + _NOT_BY_HAND
    ),
    Standing.SUPPRESSED: "contact.state = 'active' AND " + _IS_BY_HAND,
}
_IN_ALL_CONTACTS: LiteralString = """(
    contact.state = 'active' AND NOT contact.is_unconfirmed AND (
        CASE WHEN {is_by_hand} THEN 'by_hand'
             ELSE (SELECT reach.kept_back FROM (SELECT) AS one {reach}) END = ANY ({reasons})
    ) IS NOT TRUE
)"""
_OPERATORS: Mapping[Op, LiteralString] = {
    Op.IS: "=",
    Op.IN: "=",
    Op.STARTS_WITH: "LIKE",
    Op.OVER: ">",
    Op.AT_LEAST: ">=",
    Op.UNDER: "<",
    Op.AT_MOST: "<=",
    Op.BEFORE: "<",
    Op.SINCE: ">=",
}


def _bracketed(inner: Composable) -> Composed:
    return pg.SQL("({})").format(inner)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def write_pattern(op: Op, text: str) -> str:
    """What LIKE reads as the text itself, alone or where the comparison looks for it."""
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    match op:
        case Op.IS:
            return escaped
        case Op.STARTS_WITH:
            return f"{escaped}%"
        case _:
            return f"%{escaped}%"
