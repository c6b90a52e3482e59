/**
 * The main story: something changes at the provider, and one record says so, exactly as promised: key, every header, and
 * a value that fits its schema and is what the provider holds. Seen at all exits of the service.
 */
import { join } from 'node:path';
import { schemaFaults } from '../support/event-schemas';
import { evidenceOf } from '../support/evidence';
import { beginStory, notificationOf, type Story } from '../support/story';
import { until } from '../support/until';

let story: Story;
beforeEach(async () => {
  story = await beginStory();
});
afterEach(() => story.end());

test('a changed machine becomes one event, exactly as promised, and every exit tells the same', async () => {
  const [machine] = await story.equipment();
  const traceparent = '00-0123456789abcdef0123456789abcdef-0123456789abcdef-01';
  await story.simulator.changeEquipment(machine!.id, { name: 'Harvester North', notify: false });

  const answer = await story.post([notificationOf(machine!)], { traceparent });
  expect(answer).toMatchObject({ status: 204, body: '' });

  const [event] = await story.untilEvents(machine!, 1);
  const ledger = await story.untilRest();
  expect(ledger).toMatchObject({ accepted: 1, published: 1, waiting: 0, lost: 0 });

  const reads = await story.readsOf(machine!);
  expect(reads).toMatchObject([{ method: 'GET', status: 200, verdict: { scheme: 'bearer', valid: true } }]);
  expect((await story.requests()).every(({ verdict }) => verdict.valid)).toBe(true);

  expect(event!.data).toMatchObject({ id: machine!.id, name: 'Harvester North' });
  expect((await story.explain(String(event!.id))).what).toBe('event');
  expect((await story.explain('d1')).steps.length).toBeGreaterThan(1);
  expect(await story.tasks('done')).toMatchObject([{ kind: 'equipment', resourceId: machine!.id }]);

  expect(await story.metric('tramline_notifications_total', { received: 'hint' })).toBe(1);
  expect(await story.metric('tramline_attempts_total', { outcome: 'published' })).toBe(1);
  await until(() => story.log('attempt').length > 0, { withinMs: 5_000 });
  expect(story.log('delivery')).toMatchObject([{ outcome: 'accepted', status: 204, hints: 1, due: 1 }]);
  expect(story.log('attempt')).toMatchObject([{ outcome: 'published', eventIds: [event!.id], calls: 1 }]);
  expect(await story.metric('tramline_unknown_fields_total', {})).toBe(0);
  expect(story.log('fault')).toEqual([]);

  await story.service.stop();
  const { records } = await evidenceOf(join(story.dataFolder, 'tramline.db'), 1, 'embedded');
  expect(records).toHaveLength(1);
  const { key, topic, headers, value } = records[0]!;
  expect(key).toBe(`${machine!.organizationId}/equipment/${machine!.id}`);
  expect(topic).toBe('tramline.equipment.v1');
  expect(headers).toEqual([
    ['ce_specversion', '1.0'],
    ['ce_id', expect.stringMatching(/^[0-9a-f]{32}$/)],
    ['ce_source', `${new URL(story.simulator.catalog).origin}/${story.simulator.vendor}`],
    ['ce_type', 'io.tramline.equipment.created.v1'],
    ['ce_subject', key],
    ['ce_time', expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)],
    ['ce_dataschema', 'https://schemas.tramline.io/event/equipment.v1.schema.json'],
    ['ce_sequence', '00000000000000000001'],
    ['content-type', 'application/json'],
    ['traceparent', expect.stringMatching(/^00-0123456789abcdef0123456789abcdef-[0-9a-f]{16}-01$/)],
  ]);
  expect(schemaFaults('equipment', JSON.parse(value))).toEqual([]);
  expect(JSON.parse(value)).toEqual(event!.data);
});

test('a changed field operation is read in one call with its measurements, and its event fits its schema', async () => {
  const [operation] = (await story.simulator.state()).fieldOperations;
  await story.simulator.changeFieldOperation(operation!.id, { cropSeason: '2031' });
  const [event] = await story.untilEvents(operation!, 1, 'field-operation');
  expect(event).toMatchObject({
    type: 'io.tramline.field-operation.created.v1',
    topic: 'tramline.field-operation.v1',
    data: { id: operation!.id, organizationId: operation!.organizationId },
  });
  expect(schemaFaults('field-operation', event!.data)).toEqual([]);
  expect(JSON.stringify(event!.data)).toContain('2031');
  expect(event!.data).toHaveProperty('measurements');
  const [read, ...more] = await story.readsOf(operation!);
  expect(more).toEqual([]);
  expect(await story.metric('tramline_unknown_fields_total', {})).toBe(0);
  expect(read!.url).toContain('embed=measurementTypes');
});

test('later changes of one resource are updates under rising sequences', async () => {
  const [machine] = await story.equipment();
  for (const [index, name] of ['One', 'Two', 'Three'].entries()) {
    await story.simulator.changeEquipment(machine!.id, { name });
    await story.untilEvents(machine!, index + 1);
  }
  const events = await story.eventsOf(machine!);
  expect(events.map(({ type, sequence, data }) => [type, sequence, (data as { name: string }).name])).toEqual(
    [
      ['io.tramline.equipment.created.v1', '00000000000000000001', 'One'],
      ['io.tramline.equipment.updated.v1', '00000000000000000002', 'Two'],
      ['io.tramline.equipment.updated.v1', '00000000000000000003', 'Three'],
    ],
  );
});

test('fields that nobody knows take nothing from the event, and are counted and named', async () => {
  const [machine] = await story.equipment();
  const known = await story.provided(`${machine!.uri}?embed=devices,equipment`);
  const body = { ...(known as object), colour: 'green', year: { of: 'birth' } };
  await story.simulator.setFaults([
    { match: { method: 'GET', path: new URL(machine!.uri).pathname }, times: 1, status: 200, body },
  ]);

  await story.post([notificationOf(machine!)]);
  const [event] = await story.untilEvents(machine!, 1);

  expect(event!.data).toMatchObject({ name: machine!.content.name });
  const line = await until(() => story.log('attempt')[0], { withinMs: 5_000 });
  expect(line).toMatchObject({ outcome: 'published', unknownFields: ['/colour', '/year'] });
  expect(await story.metric('tramline_unknown_fields_total', {})).toBe(2);
});
