/**
 * The alert sinks that the settings name, made. With none named, alerts are log lines.
 */
import { makeAlertmanagerSink } from '../alert/alertmanager';
import { makeLogSink } from '../alert/log-sink';
import { makePagerDutySink } from '../alert/pagerduty';
import type { AlertSink } from '../alert/sink';
import { makeSlackSink } from '../alert/slack';
import type { Settings } from '../config';
import type { Alert } from '../model/alert';
import { alertingOptions, alertmanagerOptions } from './options';

/** `write` gets the alerts where no other sink is named; null: then there is no sink. Throws `settings.invalid`. */
export function sinksOf(settings: Settings, write: ((alert: Alert) => void) | null): AlertSink[] {
  const { alertmanagerUrls, pagerdutyRoutingKey, pagerdutyUrl, slackWebhookUrl } = settings;
  const clientUrl = alertingOptions(settings).runbookBase;
  const named: AlertSink[] = [];
  if (alertmanagerUrls !== null) {
    named.push(makeAlertmanagerSink(alertmanagerOptions(settings, alertmanagerUrls)));
  }
  if (pagerdutyRoutingKey !== null) {
    named.push(makePagerDutySink({ url: pagerdutyUrl, routingKey: pagerdutyRoutingKey, clientUrl }));
  }
  if (slackWebhookUrl !== null) named.push(makeSlackSink({ url: slackWebhookUrl }));
  return named.length === 0 && write !== null ? [makeLogSink(write)] : named;
}
