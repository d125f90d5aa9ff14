"""A window of WebKitGTK for WebDriver, which WebKitWebDriver starts.

WebKit's own MiniBrowser keeps nothing under WebDriver. This one keeps what pages store in a folder, and has the features that Safari has
and WebKitGTK leaves off. With no folder it is a private window.
"""

import sys

import gi

gi.require_version("Gtk", "3.0")
gi.require_version("WebKit2", "4.1")
from gi.repository import Gtk, WebKit2  # noqa: E402

SAFARI_FEATURES = {"AccessHandle", "FileSystem", "FileSystemWritableStream", "StorageAPI", "StorageAPIEstimate"}


def data_manager(folder):
    if folder is None:
        return WebKit2.WebsiteDataManager.new_ephemeral()
    return WebKit2.WebsiteDataManager(base_data_directory=folder + "/data", base_cache_directory=folder + "/cache")


def settings_of_safari():
    settings = WebKit2.Settings()
    features = WebKit2.Settings.get_all_features()
    for index in range(features.get_length()):
        feature = features.get(index)
        if feature.get_identifier() in SAFARI_FEATURES:
            settings.set_feature_enabled(feature, True)
    return settings


context = WebKit2.WebContext.new_with_website_data_manager(data_manager(sys.argv[1] if len(sys.argv) > 1 else None))
context.set_automation_allowed(True)
settings = settings_of_safari()


def create_view(_session):
    view = WebKit2.WebView(web_context=context, is_controlled_by_automation=True, settings=settings)
    window = Gtk.Window()
    window.set_default_size(1280, 900)
    window.add(view)
    window.show_all()
    view.connect("close", lambda _: window.destroy())
    return view


def start(_context, session):
    info = WebKit2.ApplicationInfo()
    info.set_name("WebKitGTK")
    info.set_version(WebKit2.get_major_version(), WebKit2.get_minor_version(), WebKit2.get_micro_version())
    session.set_application_info(info)
    session.connect("create-web-view", create_view)


context.connect("automation-started", start)
Gtk.main()
