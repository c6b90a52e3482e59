// Goal: what an outage left open is said where it ends, by every sink alike, and by nobody where nothing is left.
import { postable } from '../../../src/alert/alertmanager-payload';
import { converge } from '../../../src/alert/converge';
import { evaluate, openOf } from '../../../src/alert/evaluate';
import { toldOf } from '../../../src/alert/held-text';
import { pageOf } from '../../../src/alert/page';
import { eventOf } from '../../../src/alert/pagerduty';
import { digestOf, messageOf } from '../../../src/alert/slack';
import { type Alert, type Condition, noInputs } from '../../../src/model/alert';
import { Secret } from '../../../src/tools/secret';
import { noonMs, alertingOptions as options } from './samples';

const away: Condition = { name: 'store-unavailable', sinceMs: noonMs, detail: 'The disk is full.' };
const left =
  'The next sync finds what was not announced meanwhile: `tramline sync` begins one where none is due.';
const anew = 'A topic that was made anew holds only what was sent since.';

/** The alerts after these conditions, one round after the other, half a minute apart. */
function after(...rounds: Condition[][]): Alert[] {
  return rounds.reduce<Alert[]>((alerts, conditions, index) => {
    const nowMs = noonMs + index * 30_000;
    const inputs = { ...noInputs, conditions, nowMs };
    const passed = evaluate(inputs, { ...options, ...openOf(alerts) });
    return converge({ passed, held: [] }, alerts, nowMs, { holdMs: 30_000 });
  }, []);
}

test('the end of an outage in which announcements were missed says that a sync finds them, to every sink', () => {
  const [firing] = after([away]) as [Alert];
  const [ended] = after([away], [], []) as [Alert];
  expect(ended.state).toBe('resolved');
  for (const text of [pageOf(ended), messageOf(ended).text, digestOf([ended]).text]) {
    expect(text).toContain(left);
    expect(text).not.toContain('nothing is left');
  }
  expect(postable(ended, 'critical', noonMs, null).annotations.when_over).toBe(left);
  // PagerDuty reads nothing in an end but its key: it is told with the beginning.
  const pagerDuty = { url: '', routingKey: new Secret('key'), clientUrl: null };
  expect(eventOf(firing, pagerDuty).payload?.custom_details.when_over).toBe(left);
});

test('while it is held it asks for that and for nothing else', () => {
  const [held] = after([away], []) as [Alert];
  const { description, first_step: step } = toldOf(held).annotations;
  expect(description).toMatch(/^The next sync finds .* It told: /);
  expect(step).toBe(left);
});

test('what goes on in another alert, or left no gap, asks for nothing', () => {
  const [stuck] = after([{ ...away, name: 'store-log-stuck' }], [], []) as [Alert];
  expect(pageOf(stuck)).toContain('It is over; nothing is left to do.');
  const [held] = after([away], []) as [Alert];
  const goesOn = { ...held, annotations: { ...held.annotations, goes_on_as: 'TramlineOther' } };
  expect(toldOf(goesOn).annotations.description).toMatch(/^Nobody has to act/);
  const [harmless] = after([{ ...away, name: 'delivery-secret-unopened', losesNothing: true }]) as [Alert];
  expect(harmless.annotations).not.toHaveProperty('when_over');
});

test('a condition may say itself what is left, and that stays whatever else befalls it until its end', () => {
  const denied: Condition = { ...away, name: 'topic-denied', labels: { topic: 't' } };
  const missing = { ...denied, whenOver: anew };
  const [ended] = after([denied, missing], [denied], [], []) as [Alert];
  expect(pageOf(ended)).toContain(`It is over. ${anew}`);
  const [other] = after([denied], [], []) as [Alert];
  expect(pageOf(other)).toContain('It is over; nothing is left to do.');
});
