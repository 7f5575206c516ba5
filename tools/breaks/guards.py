"""Breaks of what keeps others out: tenants, escaping, signatures, limits and secrets."""

from tools.breaks.breaks import Break

BREAKS = [
    # By its number, in the API and on a page.
    Break(
        "an import of another workspace is not found",
        (
            "imports/queries.py",
            "Import.objects.filter(workspace_id=workspace_id, pk=import_id)",
            "Import.objects.filter(pk=import_id)",
        ),
        tests="tests/web/test_tenants.py tests/web/dashboard/test_access.py",
        otherwise="tests/imports tests/web/test_imports.py",
    ),
    # The account of one workspace reports no bounce of a mail of another.
    Break(
        "events of an account touch no mail of another workspace",
        (
            "feedback/application.py",
            "elif stream.workspace_id != each.message.workspace_id:",
            "elif False:",
        ),
        tests="tests/feedback/test_application.py",
        otherwise="tests/feedback",
    ),
    # A name with markup is text, also where the template asks whether there is a name.
    Break(
        "values are escaped inside a condition",
        (
            "content/rendering/compiled_template.py",
            "[self._write(_print(_find_value(path, values), budget)) for path in branch.paths]",
            "[_print(_find_value(path, values), budget) for path in branch.paths]",
        ),
        tests="tests/content/rendering/test_compiled_template.py",
        otherwise="tests/content/rendering",
    ),
    # A line end in a name would begin a header of a stranger's own.
    Break(
        "a name in an address line has no line end",
        ("providers/headers.py", "        check(name, box.name)\n", ""),
        tests="tests/providers/test_header_injection.py tests/providers/test_mime.py",
        otherwise="tests/providers",
    ),
    # A key is only fetched from a path that SNS has certificates at.
    Break(
        "a certificate's URL has nothing behind the path",
        (
            "providers/ses/events/sns_envelope.py",
            "_CERTIFICATE_PATH.fullmatch(url, len(origin))",
            "_CERTIFICATE_PATH.match(url, len(origin))",
        ),
        tests="tests/feedback/test_sns_envelope.py tests/feedback/test_intake_forgeries.py",
        otherwise="tests/feedback",
    ),
    # What a client writes into X-Forwarded-For makes it no other visitor.
    Break(
        "a visitor is whom the trusted proxy saw",
        ("web/shared/throttle.py", "hops[-trusted] if", "hops[0] if"),
        tests="tests/web/public/test_limits.py tests/web/test_throttling.py",
    ),
    # Each use would renew the trust of a process in the key.
    Break(
        "a revoked key ends within a second, also one that is used all the time",
        (
            "web/shared/auth.py",
            "            if caller is not None:\n                self._entries[digest]",
            "        if caller is not None:\n            self._entries[digest]",
        ),
        tests="tests/web/test_sending.py tests/web/test_throttling.py",
    ),
    # Their reader could act for the person; what stands before the signature is public.
    Break(
        "mails as members and exports show them have no signature of a token",
        ("dispatch/past_letters.py", r"(?<=token%3d))[\w.%=-]++", r"(?<=token%3d))[\w-]++"),
        tests="tests/dispatch/test_letters.py tests/web/dashboard/test_message.py",
        otherwise="tests/privacy tests/dispatch",
    ),
    # A tenant would reach the network of the operator.
    Break(
        "a host with one private address is not connected to",
        (
            "providers/public_addresses.py",
            "not all(map(is_allowed, addresses))",
            "not any(map(is_allowed, addresses))",
        ),
        tests="tests/providers/test_smtp_hosts.py tests/providers/test_quota_source.py",
        otherwise="tests/providers",
    ),
    # Everything of another workspace is as if it did not exist.
    Break(
        "the list of contacts shows no mail of another workspace",
        (
            "deliveries/figures/last_mails.py",
            "WHERE s.id = d.stream_id AND s.workspace_id = %(workspace)s AND NOT",
            "WHERE s.id = d.stream_id AND NOT",
        ),
        tests="tests/deliveries/figures/test_last_mails.py",
        otherwise="tests/deliveries/figures tests/web/dashboard/test_contacts.py",
    ),
]
