/**
 * What deliveries do to the scaled store, as functions of the database: one message accepts a group of them, where each answer
 * that is waited for costs a turn of the main thread. A function is made by one step of the schema and stays as it is:
 * whoever changes what it does makes another under the next number, since versions work side by side. How it does the same may change.
 */
import { taskIds } from './task-rows';

/**
 * Something falls due in these lanes at these times. Whatever their rows say, they are shared until the commit; a bound only comes
 * nearer.
 */
const expectLanes = `
CREATE FUNCTION expect_lanes_1(named_lanes text[], named_ms bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  lane_ids text[];
  due_ms bigint[];
  shared bigint;
  is_nearer boolean;
BEGIN
  SELECT array_agg(n.id), array_agg(n.due_at) INTO lane_ids, due_ms FROM (
    SELECT id, min(due_at) AS due_at FROM unnest(named_lanes, named_ms) AS u (id, due_at) GROUP BY id) n;
  FOR attempt IN 1..2 LOOP
    SELECT count(*), coalesce(bool_or(s.is_nearer), false) INTO shared, is_nearer FROM (
      SELECT l.next_due_at IS NULL OR l.next_due_at > n.due_at AS is_nearer
      FROM unnest(lane_ids, due_ms) AS n (id, due_at) JOIN lanes l ON l.id = n.id ORDER BY l.id FOR KEY SHARE OF l) s;
    EXIT WHEN shared = cardinality(lane_ids);
    INSERT INTO lanes (id) SELECT n.id FROM unnest(lane_ids) AS n (id)
    WHERE NOT EXISTS (SELECT 1 FROM lanes l WHERE l.id = n.id) ORDER BY n.id COLLATE "C"
    ON CONFLICT (id) DO NOTHING;
  END LOOP;
  IF is_nearer THEN
    WITH earlier AS MATERIALIZED (
      SELECT l.id, n.due_at FROM unnest(lane_ids, due_ms) AS n (id, due_at) JOIN lanes l ON l.id = n.id
      WHERE l.next_due_at IS NULL OR l.next_due_at > n.due_at ORDER BY l.id FOR NO KEY UPDATE OF l)
    UPDATE lanes l SET next_due_at = least(l.next_due_at, e.due_at),
      turn = CASE WHEN l.next_due_at IS NULL
        THEN greatest(l.turn, (SELECT value FROM meta WHERE name = 'turn')) ELSE l.turn END
    FROM earlier e WHERE l.id = e.id;
  END IF;
END $$;
`;

/**
 * Marks the resources behind addresses due: one generation and one row in the journal for each hint. Of each address, each
 * once: how many hints name it, the last organization and the last user that they name, whether the last of them that names either
 * names a user, when the first was received, and the last one's trace. Of each hint: which of the addresses it names, the how
 * manieth to do so, which of the deliveries it is of, and its place there. The organizations are there already.
 *
 * A hint meets a task by its state: waiting in back-off keeps its time, settling comes due, quarantined gets one attempt, taken
 * stays due after its ending. While the owner of a resource is not known, the latest claim says whose turn it takes. Where
 * nobody could read for the user before, a hint that names an organization and no user counts as the first. Several addresses
 * of one task take turns.
 *
 * What is known is locked by its ids before other addresses are added, so that crossed deliveries wait for each other in one
 * order; and once more where one was joined while its lock was waited for, or another process was faster with an address.
 *
 * Ten thousand addresses take as long as a hundred hundreds: a plan that is made for its values walks a list of texts from its
 * start for each element, and \`IN\` that is no test of truth may be made a join that compares each with each.
 */
const markHints = ({ create, settings, known, isUnknown, isMarked }: Record<HintPart, string>) => `
${create} FUNCTION mark_hints_1(now_ms bigint, gap_ms bigint, addresses text[], counts int[], claims text[], user_ids text[],
  end_in_users boolean[], first_ms bigint[], traces text[], delivery_ids bigint[], ats int[], rises int[], ofs int[], places int[])
RETURNS void LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan${settings} AS $$
DECLARE
  known_ats bigint[];
  known_ids bigint[];
  turns bigint[];
  are_woken boolean[];
  lanes_before text[];
  is_joined boolean;
  quarantined_ids bigint[];
  added_ats bigint[] := '{}';
  added_ids bigint[] := '{}';
  changed record;
  marked_ats bigint[];
  marked_ids bigint[];
  generations bigint[];
  due_lanes text[];
  due_ms bigint[];
BEGIN
  FOR attempt IN 1..4 LOOP
    SELECT coalesce(array_agg(k.at), '{}'), array_agg(k.id), array_agg(k.turn), array_agg(k.is_woken), array_agg(k.lane),
      coalesce(bool_or(k.is_joined), false), array_agg(k.id) FILTER (WHERE k.state = 'quarantined')
    INTO known_ats, known_ids, turns, are_woken, lanes_before, is_joined, quarantined_ids FROM (
      SELECT l.*, l.state IN ('done', 'settling', 'quarantined') AS is_woken,
        row_number() OVER (PARTITION BY l.id ORDER BY l.at) AS turn FROM (
${known}) l) k;
    CONTINUE WHEN is_joined;
    EXIT WHEN cardinality(known_ats) + cardinality(added_ats) = cardinality(addresses);
    WITH unknown AS MATERIALIZED (
      SELECT n.at, n.address, nextval(${taskIds}) AS id FROM unnest(addresses) WITH ORDINALITY AS n (address, at)
      WHERE ${isUnknown}),
    added AS (
      INSERT INTO aliases (address, task_id) SELECT address, id FROM unknown ORDER BY address COLLATE "C"
      ON CONFLICT (address) DO NOTHING RETURNING task_id),
    made AS (
      INSERT INTO tasks (id, address, generation, state, due_at, lane, first_hint_at, traceparent, hinted_organization_id,
        hinted_user, crowded)
      SELECT id, address, counts[at], 'due', now_ms, coalesce(claims[at], ''), first_ms[at], traces[at], claims[at],
        user_ids[at], counts[at] > 1
      FROM unknown WHERE (id IN (SELECT task_id FROM added)) IS TRUE)
    SELECT added_ats || coalesce(array_agg(at), '{}'), added_ids || coalesce(array_agg(id), '{}')
    INTO added_ats, added_ids FROM unknown WHERE (id IN (SELECT task_id FROM added)) IS TRUE;
    EXIT WHEN cardinality(known_ats) + cardinality(added_ats) = cardinality(addresses);
  END LOOP;
  IF is_joined THEN
    RAISE EXCEPTION 'resources were joined meanwhile, again and again' USING ERRCODE = 'serialization_failure';
  ELSIF cardinality(known_ats) + cardinality(added_ats) < cardinality(addresses) THEN
    -- Of the one delivery that names it.
    RAISE EXCEPTION 'an address has no task' USING ERRCODE = 'data_exception';
  END IF;

  marked_ats := added_ats;
  marked_ids := added_ids;
  generations := array_fill(0::bigint, ARRAY[cardinality(added_ats)]);
  SELECT array_agg(coalesce(claims[n.at], '')), array_fill(now_ms, ARRAY[cardinality(added_ats)])
  INTO due_lanes, due_ms FROM unnest(added_ats) AS n (at);
  FOR this_turn IN 1..coalesce((SELECT max(n) FROM unnest(turns) AS n), 0) LOOP
    WITH marked AS (
      UPDATE tasks t SET generation = t.generation + counts[k.at], settling = false, reconciled = false,
        state = CASE WHEN k.is_woken THEN 'due' ELSE t.state END,
        due_at = CASE WHEN k.is_woken AND this_turn = 1 THEN greatest(now_ms,
          CASE WHEN t.read_at IS NOT NULL THEN least(t.read_at, now_ms) + gap_ms END) ELSE t.due_at END,
        lane = coalesce(CASE WHEN t.organization_id IS NULL THEN claims[k.at] END, t.lane),
        first_hint_at = coalesce(t.first_hint_at, first_ms[k.at]), traceparent = traces[k.at],
        hinted_organization_id = coalesce(claims[k.at], t.hinted_organization_id),
        hinted_user = CASE WHEN t.code = 'no-connection' AND claims[k.at] IS NOT NULL AND NOT end_in_users[k.at] THEN NULL
          ELSE coalesce(user_ids[k.at], t.hinted_user) END,
        crowded = t.crowded OR t.state <> 'done' OR counts[k.at] > 1
      FROM unnest(known_ats, known_ids, turns, are_woken, lanes_before) AS k (at, id, turn, is_woken, lane)
      WHERE k.turn = this_turn AND ${isMarked}
      RETURNING k.at, t.id, t.generation - counts[k.at] AS generation, t.lane, t.due_at,
        t.due_at IS NOT NULL AND (k.is_woken OR t.lane <> k.lane) AS is_due)
    SELECT array_agg(at) AS ats, array_agg(id) AS ids, array_agg(generation) AS generations,
      array_agg(lane) FILTER (WHERE is_due) AS lanes, array_agg(due_at) FILTER (WHERE is_due) AS due_ms
    INTO changed FROM marked;
    marked_ats := marked_ats || changed.ats;
    marked_ids := marked_ids || changed.ids;
    generations := generations || changed.generations;
    due_lanes := due_lanes || changed.lanes;
    due_ms := due_ms || changed.due_ms;
  END LOOP;

  SELECT array_agg(id ORDER BY at), array_agg(generation ORDER BY at) INTO marked_ids, generations
  FROM unnest(marked_ats, marked_ids, generations) AS n (at, id, generation);
  INSERT INTO hints (task_id, generation, delivery_id, element)
  SELECT marked_ids[at], generations[at] + rise, delivery_ids[of], place FROM unnest(ats, rises, ofs, places) AS h (at, rise, of, place);
  IF quarantined_ids IS NOT NULL THEN
    UPDATE quarantine SET state = 'released' WHERE task_id = ANY(quarantined_ids) AND state = 'waiting';
  END IF;
  IF due_lanes <> '{}' THEN
    PERFORM expect_lanes_1(due_lanes, due_ms);
  END IF;
END $$;
`;

/** What differs between two texts of it: how it is made and planned, and how rows are found. */
type HintPart = 'create' | 'settings' | 'known' | 'isUnknown' | 'isMarked';

const markHintsAsMade = markHints({
  create: 'CREATE',
  settings: '',
  known: `        SELECT n.at, t.id, t.state, t.lane, o.joined_to IS NULL AND t.joined_to IS NOT NULL AS is_joined
        FROM unnest(addresses) WITH ORDINALITY AS n (address, at)
        CROSS JOIN LATERAL (SELECT task_id FROM aliases WHERE address = n.address OFFSET 0) a
        JOIN tasks o ON o.id = a.task_id JOIN tasks t ON t.id = coalesce(o.joined_to, o.id)
        WHERE n.at <> ALL(added_ats) ORDER BY t.id FOR NO KEY UPDATE OF t`,
  isUnknown: 'NOT EXISTS (SELECT 1 FROM aliases a WHERE a.address = n.address)',
  isMarked: 't.id = k.id',
});

const markHintsLookedUp = markHints({
  create: 'CREATE OR REPLACE',
  settings: ' SET enable_nestloop = off',
  known: `        SELECT o.at, t.id, t.state, t.lane, o.joined_to IS NULL AND t.joined_to IS NOT NULL AS is_joined FROM (
          SELECT n.at, o.id, o.joined_to FROM unnest(addresses) WITH ORDINALITY AS n (address, at)
          CROSS JOIN LATERAL (SELECT task_id FROM aliases WHERE address = n.address OFFSET 0) a
          CROSS JOIN LATERAL (SELECT id, joined_to FROM tasks WHERE id = a.task_id OFFSET 0) o
          WHERE n.at <> ALL(added_ats) ORDER BY coalesce(o.joined_to, o.id)) o
        CROSS JOIN LATERAL (
          SELECT id, state, lane, joined_to FROM tasks WHERE id = coalesce(o.joined_to, o.id) FOR NO KEY UPDATE) t`,
  isUnknown: '(SELECT true FROM aliases a WHERE a.address = n.address) IS NULL',
  isMarked: 't.id = k.id AND t.id = ANY(known_ids)',
});

/**
 * The same as `expect_lanes_1` and `mark_hints_1` do, by rows that are looked up one by one, in the order of their locks. Where the
 * server had counted few rows, it read a whole table for each group that came, and compared each row with each address:
 * a plan is kept until it counts again, while a first sync or a storm has long filled the tables. Without nested loops it may still
 * look up what is asked for in turn, and does not compare each with each.
 */
export const lookUps = `
CREATE OR REPLACE FUNCTION expect_lanes_1(named_lanes text[], named_ms bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  lane_ids text[];
  due_ms bigint[];
  shared bigint;
  is_nearer boolean;
BEGIN
  SELECT array_agg(n.id ORDER BY n.id COLLATE "C"), array_agg(n.due_at ORDER BY n.id COLLATE "C") INTO lane_ids, due_ms FROM (
    SELECT id, min(due_at) AS due_at FROM unnest(named_lanes, named_ms) AS u (id, due_at) GROUP BY id) n;
  FOR attempt IN 1..2 LOOP
    SELECT count(*), coalesce(bool_or(l.next_due_at IS NULL OR l.next_due_at > n.due_at), false) INTO shared, is_nearer
    FROM unnest(lane_ids, due_ms) AS n (id, due_at)
    CROSS JOIN LATERAL (SELECT next_due_at FROM lanes WHERE id = n.id FOR KEY SHARE) l;
    EXIT WHEN shared = cardinality(lane_ids);
    INSERT INTO lanes (id) SELECT n.id FROM unnest(lane_ids) AS n (id)
    WHERE NOT EXISTS (SELECT 1 FROM lanes l WHERE l.id = n.id) ORDER BY n.id COLLATE "C"
    ON CONFLICT (id) DO NOTHING;
  END LOOP;
  IF is_nearer THEN
    WITH earlier AS MATERIALIZED (
      SELECT n.id, n.due_at FROM unnest(lane_ids, due_ms) AS n (id, due_at)
      CROSS JOIN LATERAL (
        SELECT FROM lanes WHERE id = n.id AND (next_due_at IS NULL OR next_due_at > n.due_at) FOR NO KEY UPDATE) l)
    UPDATE lanes l SET next_due_at = least(l.next_due_at, e.due_at),
      turn = CASE WHEN l.next_due_at IS NULL
        THEN greatest(l.turn, (SELECT value FROM meta WHERE name = 'turn')) ELSE l.turn END
    FROM earlier e WHERE l.id = e.id AND l.id = ANY(lane_ids);
  END IF;
END $$;
${markHintsLookedUp}`;

/**
 * Accepts deliveries without message ids of which nothing is set aside and nobody is probed: journals them, in their order, and
 * marks what they hint (\`mark_hints_1\`); \`named\` are the organizations that they name, each once. Answers their ids in that
 * order. Refuses while a move into this store is not complete. \`told_ms\` stands for the clock where it is told, for tests.
 */
const accept = `
CREATE FUNCTION accept_1(told_ms bigint, gap_ms bigint, received_ms bigint[], body_hashes text[], sizes bigint[],
  delivery_traces text[], notified int[], acted_on int[], left_out int[], element_texts text[], named text[],
  addresses text[], counts int[], claims text[], user_ids text[], end_in_users boolean[], first_ms bigint[], traces text[],
  ats int[], rises int[], ofs int[], places int[])
RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
  now_ms bigint := coalesce(told_ms, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint);
  delivery_ids bigint[];
BEGIN
  IF EXISTS (SELECT 1 FROM meta WHERE name = 'moving') THEN
    RAISE EXCEPTION 'a move into this store is not complete' USING ERRCODE = 'object_not_in_prerequisite_state';
  END IF;
  WITH journalled AS (
    INSERT INTO deliveries (received_at, body_hash, bytes, traceparent, notifications, acted, ignored, quarantined, elements)
    SELECT received_at, body_hash, bytes, traceparent, notifications, acted, ignored, 0, elements
    FROM unnest(received_ms, body_hashes, sizes, delivery_traces, notified, acted_on, left_out, element_texts)
      WITH ORDINALITY AS d (received_at, body_hash, bytes, traceparent, notifications, acted, ignored, elements, nth)
    ORDER BY nth RETURNING id)
  SELECT array_agg(id ORDER BY id) INTO delivery_ids FROM journalled;
  IF (SELECT count(*) FROM organizations WHERE id = ANY(named)) < cardinality(named) THEN
    WITH added AS (
      INSERT INTO organizations (id) SELECT n.id FROM unnest(named) AS n (id)
      WHERE NOT EXISTS (SELECT 1 FROM organizations o WHERE o.id = n.id)
      ORDER BY n.id COLLATE "C" ON CONFLICT (id) DO NOTHING RETURNING id)
    INSERT INTO lanes (id) SELECT id FROM added ORDER BY id COLLATE "C" ON CONFLICT (id) DO NOTHING;
  END IF;
  IF addresses <> '{}' THEN
    PERFORM mark_hints_1(now_ms, gap_ms, addresses, counts, claims, user_ids, end_in_users, first_ms, traces, delivery_ids,
      ats, rises, ofs, places);
  END IF;
  RETURN delivery_ids;
END $$;
`;

export const hintFunctionNames = ['accept_1', 'mark_hints_1', 'expect_lanes_1'];

/** They do what their caller may do. Defaults of a database may keep others than their owner from calling them. */
export const hintFunctions = [
  expectLanes,
  markHintsAsMade,
  accept,
  ...hintFunctionNames.map((name) => `GRANT EXECUTE ON FUNCTION ${name} TO PUBLIC;`),
].join('');
