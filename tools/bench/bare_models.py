"""The one table of the bare view."""

from django.db import models


class Mail(models.Model):
    id = models.BigAutoField(primary_key=True)
    recipient = models.TextField()
    subject = models.TextField()
    html = models.TextField()

    class Meta:
        app_label = "bench"
        db_table = "bench_mail"
