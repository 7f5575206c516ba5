"""Sections open at a registrar, and every student who waits for one is told once.

The poller, the planner and the sender are killed on the way, each in the middle of its work.
"""

import os
import re
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import EmailMessage
from email.utils import parseaddr
from pathlib import Path

import httpx
import pytest
from django.db import connection
from examples.registrar import set_up
from examples.registrar.registrar import Registrar

from postledger.accounts import keys, workspaces
from postledger.accounts.keys import Scope
from postledger.accounts.queries import Organisation
from postledger.contacts.models import Contact
from postledger.lib.crashpoints import Point
from postledger.notifications.models import Event, Notification, SourceItem, Topic
from tests import cast
from tests.journeys import post, rig, stage
from tests.notifications import cast as topics
from tests.web.public import visiting

pytestmark = [pytest.mark.slow, pytest.mark.sample, pytest.mark.django_db(transaction=True)]

LETTERS = Path(__file__).parent / "letters"
SECTIONS = 50
STUDENTS = 500
SUBJECTS = {
    "en": "A seat opened in {course}, section {section}",
    "pt": "Abriu uma vaga em {course}, turma {section}",
    "ru": "Освободилось место: {course}, группа {section}",
}


def section_of(student: int) -> str:
    return str(10_001 + student % SECTIONS)


def locale_of(student: int) -> str:
    # Not in step with the sections: each of them is told in several languages.
    return set_up.LOCALES[student // SECTIONS % len(set_up.LOCALES)]


@dataclass
class University:
    installed: rig.Installation
    registrar: Registrar
    box: post.Mailbox
    api: set_up.Api
    client: post.Client
    browser: httpx.Client

    def mails(self) -> dict[str, list[EmailMessage]]:
        found: dict[str, list[EmailMessage]] = {}
        for mail in self.box.mails():
            found.setdefault(parseaddr(str(mail["To"]))[1], []).append(mail)
        return found

    def work_until_it_dies(self, point: Point, passes: int) -> None:
        """A worker with beat does everything, until it is killed at a point; nobody replaces it."""
        command = ["env", f"CRASH_AT={point}:{passes}", str(rig.COMMANDS / "postledger")]
        process = self.installed.start("worker", [*command, "worker", "--beat"])
        rig.until(lambda: '"exit_code": -9' in process.log.read_text())
        os.killpg(process.popen.pid, signal.SIGKILL)
        process.popen.wait()
        end_leases()

    def decide_doubts(self) -> None:
        """As an operator does who looks into the mailbox: what is not there is sent again."""
        arrived = self.mails()
        while True:
            doubts = self.client.ask("/v1/doubts?limit=100").body["doubts"]
            assert isinstance(doubts, list)
            if not doubts:
                return
            for decision, is_there in (("count_as_sent", True), ("send_again", False)):
                ids = [one["id"] for one in doubts if (one["address"] in arrived) is is_there]
                if ids:
                    for stream_id in {one["stream_id"] for one in doubts}:
                        cast.pass_grace(stream_id)
                    self.client.ask("/v1/doubts/resolve", {"decision": decision, "ids": ids})

    def is_over(self) -> bool:
        books = Counter(self.list_states())
        if books["in_doubt"] and not books["waiting"]:
            self.decide_doubts()
        return books == {"accepted": STUDENTS}

    def list_states(self) -> list[str]:
        stream_ids = set(Event.objects.values_list("stream_id", flat=True)) - {None}
        return [
            str(state)
            for stream_id in stream_ids
            if stream_id is not None
            for state in cast.states(stream_id).values()
        ]


def end_leases() -> None:
    """Lets the database's clock pass the end of what the dead still hold."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT DISTINCT lease FROM deliveries_batch WHERE lease IS NOT NULL")
        leases = [lease for (lease,) in cursor.fetchall()]
    for lease in leases:
        cast.run_out(lease)


@contextmanager
def open_registrar() -> Iterator[Registrar]:
    with Registrar(0, SECTIONS) as registrar:
        thread = threading.Thread(target=registrar.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield registrar
        finally:
            registrar.shutdown()
            thread.join()


@pytest.fixture
def university(tmp_path: Path) -> Iterator[University]:
    port = rig.free_port()
    address = f"http://127.0.0.1:{port}"
    with open_registrar() as registrar, post.mailbox() as box:
        environment = {
            "PUBLIC_URL": address,
            "UNSUBSCRIBE_SECRET": visiting.SECRET,
            "PUBLIC_RATE": "1000000/minute",
            "SOURCE_HOSTS": f"127.0.0.1:{registrar.server_port}",
        }
        with (
            rig.installation(tmp_path, stage.database(), **environment) as installed,
            httpx.Client(base_url=address, timeout=30, trust_env=False) as browser,
        ):
            owner = stage.sender("acme", "smtp", host="127.0.0.1", port=box.port, tls="none")
            page = Organisation("Acme University", "1 Main St", f"{address}/unsubscribe")
            workspaces.set_organisation(owner.workspace_id, page, actor="test")
            token = keys.create_key(
                owner.workspace_id, name="registrar", scopes=list(Scope), actor="test"
            ).token
            installed.web(port)
            api = set_up.Api(address, token)
            client = post.Client(address, token)
            yield University(installed, registrar, box, api, client, browser)


def enrol(university: University) -> None:
    """The first student by the API, as the example does it; the others as rows."""
    set_up.add_topic(university.api)
    set_up.add_subscriber(university.api, 0, section_of(0))
    topic = Topic.objects.get(list__key="open-sections")
    for student in range(1, STUDENTS):
        match = {"termId": "92026", "campusCode": "NB", "indexNumber": section_of(student)}
        topics.subscribe(topic, f"student{student}", match=match, locale=locale_of(student))


def read_text(mail: EmailMessage) -> str:
    body = mail.get_body(("plain",))
    assert body is not None
    return str(body.get_content())


def test_every_student_is_told_once_although_poller_planner_and_sender_are_killed(
    university: University,
) -> None:
    enrol(university)
    set_up.add_source(
        university.api,
        f"http://127.0.0.1:{university.registrar.server_port}/sections",
        interval_seconds=1,
    )
    baseline = {"items": list(university.registrar.sections.values())}
    university.client.ask("/v1/sources/registrar/snapshots", baseline)
    university.registrar.set_status("Open")

    university.work_until_it_dies(Point.IN_SNAPSHOT, 1)
    after_poller = (Event.objects.count(), SourceItem.objects.filter(value="Open").count())
    university.work_until_it_dies(Point.IN_PLAN_CHUNK, 3)
    after_planner = (Event.objects.count(), Notification.objects.count())
    university.work_until_it_dies(Point.AFTER_ANSWERS, 2)
    university.installed.worker("--beat")
    rig.until(university.is_over, seconds=400, every=0.3)

    assert after_poller == (0, 0)
    assert after_planner[0] == SECTIONS
    assert after_planner[1] < STUDENTS
    assert Notification.objects.filter(end=None).count() == Notification.objects.count() == STUDENTS
    mails = university.mails()
    assert {address: len(found) for address, found in mails.items()} == {
        f"student{student}@example.com": 1 for student in range(STUDENTS)
    }
    for student in range(STUDENTS):
        [mail] = mails[f"student{student}@example.com"]
        section = university.registrar.sections[section_of(student)]
        subject = SUBJECTS[locale_of(student)]
        assert mail["Subject"] == subject.format(
            course=section["course"], section=section["section"]
        )
    read_three(university, mails)


def read_three(university: University, mails: dict[str, list[EmailMessage]]) -> None:
    """One mail of each language, from its first word to its last, and its links."""
    for student in (0, SECTIONS, 2 * SECTIONS):
        address = f"student{student}@example.com"
        text = read_text(mails[address][0])
        letter = LETTERS / f"open-seat.{locale_of(student)}.txt"
        assert blank_out(text) == letter.read_text().strip()
        [manage] = re.findall(r"http://127\S+/preferences\?token=[\w.-]*\w", text)
        [leave, *others] = re.findall(r"http://127\S+/unsubscribe\?token=[\w.-]*\w", text)
        assert others == [leave]
        page = university.browser.get(manage)
        assert (page.status_code, "10001" in page.text) == (200, True)
        assert university.browser.get(leave).status_code == 200
        university.browser.post(leave, data={"List-Unsubscribe": "One-Click"}).raise_for_status()
        contact = Contact.objects.get(address=address)
        assert contact.subscription_set.get(list__key="open-sections").state == "unsubscribed"


def blank_out(text: str) -> str:
    """The text without what differs from run to run."""
    text = "\n".join(text.splitlines())
    text = re.sub(r"http://127\.0\.0\.1:\d+", "ADDRESS", text)
    text = re.sub(r"token=[\w.-]*\w", "token=TOKEN", text)
    date = r"\d{4}-\d\d-\d\d at|\d\d/\d\d/\d{4} às|\d\d\.\d\d\.\d{4} в"
    return re.sub(rf"(?:{date}) \d\d:\d\d", "MOMENT", text).strip()
