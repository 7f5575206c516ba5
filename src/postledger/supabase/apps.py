"""Registers the app that syncs contacts with Supabase."""

from django.apps import AppConfig


class SupabaseConfig(AppConfig):
    name = "postledger.supabase"
