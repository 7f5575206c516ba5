"""Sets up what SES reports of an account's mail, and removes it, step by step."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from postledger.accounts import sealing
from postledger.accounts.models import ProviderAccount
from postledger.feedback import topics
from postledger.feedback.report_setup.account import AccountSetup
from postledger.lib.sentences import say
from postledger.providers import set_up
from postledger.providers.ses.events import event_removal, event_setup
from postledger.providers.ses.events.event_setup import Clients
from postledger.providers.ses.settings import SesSettings
from postledger.providers.set_up import Step, StepState

# Workers read settings again after 5 s, and a call takes 30 s at most.
_SET_IS_IDLE_AFTER = timedelta(minutes=1)


class SesReports(AccountSetup):
    """What SES reports of one account's mail."""

    __slots__ = ()

    def create(self, url: str = "") -> Iterator[Step]:
        """Has SES report to a queue, or to the URL."""
        settings = self._read_settings()
        if url:
            is_here = settings.actual_endpoint.is_here
            set_up.check_url(url, poster="SNS", path="/ses-events", is_here=is_here)
        configuration_set = settings.configuration_set or self.name
        yield from event_setup.create(
            Clients(settings),
            name=self.name,
            configuration_set=configuration_set,
            url=url,
            register=self._register,
        )
        if not settings.configuration_set:
            self.change({"configuration_set": configuration_set})
            message = say("Mail of the account is sent with %(name)s.", name=configuration_set)
            yield Step("account", StepState.DONE, message)

    def listen(self, topic_arn: str, queue_url: str) -> Step:
        """Registers a topic that somebody else made."""
        self._register(topic_arn, queue_url)
        message = (
            say("The account listens to %(arn)s and reads its queue.", arn=topic_arn)
            if queue_url
            else say(
                "The account listens to %(arn)s and takes what it posts to /ses-events.",
                arn=topic_arn,
            )
        )
        return Step("topic", StepState.DONE, message)

    def remove(self) -> Iterator[Step]:
        settings, listened = self._read_settings(), topics.list_topics(self.account.pk)
        configuration_set = settings.configuration_set or self.name
        is_set_idle = self._is_set_idle(settings)
        if settings.configuration_set == self.name:
            self.change({"configuration_set": None})
            message = say("Mail is no longer sent with %(name)s.", name=self.name)
            yield Step("account", StepState.DONE, message)
        is_queue_left = False
        steps = event_removal.remove(
            Clients(settings),
            name=self.name,
            configuration_set=configuration_set,
            has_queue=_can_have_queue(settings),
            is_set_idle=is_set_idle,
        )
        for step in steps:
            is_queue_left |= (step.subject, step.state) == ("queue", StepState.LEFT)
            yield step
        for topic in listened:
            is_own = topic.arn.endswith(f":{self.name}")
            if not (is_own and is_queue_left):
                yield self._stop_listening(topic.arn, is_own=is_own)

    def _stop_listening(self, arn: str, *, is_own: bool) -> Step:
        topics.remove_topic(self.workspace.pk, self.account.pk, arn=arn, actor=self.actor)
        if is_own:
            return Step("account", StepState.DONE, say("It no longer listens to the topic."))
        message = say(
            "It no longer listens to %(arn)s, which is not of our making and stays.", arn=arn
        )
        return Step("account", StepState.LEFT, message)

    def _register(self, topic_arn: str, queue_url: str) -> None:
        """A queue that the topic has already is read on, beside what is posted."""
        listened = {topic.arn: topic.queue_url for topic in topics.list_topics(self.account.pk)}
        topics.register_topic(
            self.workspace.pk,
            self.account.pk,
            arn=topic_arn,
            queue_url=queue_url or listened.get(topic_arn, ""),
            actor=self.actor,
        )

    def _is_set_idle(self, settings: SesSettings) -> bool:
        changed_at = ProviderAccount.objects.values_list("updated_at").get(pk=self.account.pk)[0]
        is_old = datetime.now(UTC) - changed_at > _SET_IS_IDLE_AFTER
        return settings.configuration_set != self.name and is_old

    def _read_settings(self) -> SesSettings:
        account = ProviderAccount.objects.get(pk=self.account.pk)
        return SesSettings.model_validate(sealing.unseal_settings(account))


def _can_have_queue(settings: SesSettings) -> bool:
    """A stand-in for SES on this machine has a queue only with a stand-in for SQS."""
    return bool(settings.sqs_endpoint) or not settings.actual_endpoint.is_here
