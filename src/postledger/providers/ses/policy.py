"""The IAM policy that an account needs: to send, to be checked, to set up and read events; pure."""

from collections.abc import Mapping, Sequence

_SEND = ("ses:SendEmail", "ses:SendRawEmail")  # SendEmail with raw content asks for both
_READ = (
    "ses:GetAccount",
    "ses:GetEmailIdentity",
    "ses:GetConfigurationSet",
    "ses:GetConfigurationSetEventDestinations",
)
_RECEIVE = ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sns:ConfirmSubscription")
_SET_UP = (
    "ses:CreateConfigurationSet",
    "ses:DeleteConfigurationSet",
    "ses:CreateConfigurationSetEventDestination",
    "ses:UpdateConfigurationSetEventDestination",
    "ses:DeleteConfigurationSetEventDestination",
    "sns:CreateTopic",
    "sns:DeleteTopic",
    "sns:GetTopicAttributes",
    "sns:SetTopicAttributes",
    "sns:Subscribe",
    "sns:ListSubscriptionsByTopic",
    "sns:GetSubscriptionAttributes",
    "sns:SetSubscriptionAttributes",
    "sqs:CreateQueue",
    "sqs:DeleteQueue",
    "sqs:GetQueueUrl",
    "sqs:GetQueueAttributes",
    "sqs:SetQueueAttributes",
)
_OWN = "postledger-*"  # what we create begins so


def write_policy(
    region: str, *, identities: Sequence[str], configuration_set: str
) -> Mapping[str, object]:
    """Without identities or a configuration set, all those of the AWS account may be used."""
    ses, sns, sqs = (
        f"arn:{_partition(region)}:{service}:{region}:*" for service in ("ses", "sns", "sqs")
    )
    identity_arns = [f"{ses}:identity/{name}" for name in identities or ("*",)]
    set_arn = f"{ses}:configuration-set/{configuration_set or '*'}"
    queues_and_topics = [f"{sns}:{_OWN}", f"{sqs}:{_OWN}"]
    return {
        "Version": "2012-10-17",
        "Statement": [
            _allow("Send", _SEND, [*identity_arns, set_arn]),
            _allow("Check", _READ, "*"),
            _allow("ReceiveEvents", _RECEIVE, queues_and_topics),
            _allow("SetUpEvents", _SET_UP, [set_arn, *queues_and_topics]),
            _allow("FindTopics", ["sns:ListTopics"], "*"),
        ],
    }


def _allow(name: str, actions: Sequence[str], resources: str | list[str]) -> Mapping[str, object]:
    return {"Sid": name, "Effect": "Allow", "Action": list(actions), "Resource": resources}


def _partition(region: str) -> str:
    if region.startswith("cn-"):
        return "aws-cn"
    return "aws-us-gov" if region.startswith("us-gov-") else "aws"
