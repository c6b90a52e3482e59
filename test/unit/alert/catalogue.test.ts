// Goal: whoever is paged finds a runbook: each alert name has one, and it is complete.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { catalogue, runbookFileOf } from '../../../src/alert/catalogue';
import { repositoryRoot } from '../../support/repository';

const folder = join(repositoryRoot(), 'deploy/runbooks');
const headings = ['Meaning', 'Impact', 'Diagnosis', 'Mitigation', 'How it ends'];

test('there is one runbook for each alert name', () => {
  const files = catalogue.map(runbookFileOf).sort();
  expect(new Set(files).size).toBe(files.length);
  expect(readdirSync(folder)).toEqual(expect.arrayContaining(files));
});

test.each(catalogue.map(runbookFileOf))('%s says all five things, and gives a command to look', (file) => {
  const text = readFileSync(join(folder, file), 'utf8');
  expect(text.match(/^# (.+)$/m)?.[1]).toBe(file.replace(/\.md$/, ''));
  expect([...text.matchAll(/^## (.+)$/gm)].map((match) => match[1])).toEqual(headings);
  const diagnosis = text.slice(text.indexOf('## Diagnosis'), text.indexOf('## Mitigation'));
  expect(diagnosis).toMatch(/^```sh\n\S[^`]+\n```$/m);
});

test.each(catalogue.map((row) => [row.name, row] as const))('%s is a name and sentences', (name, row) => {
  expect(name).toMatch(/^Tramline([A-Z][a-z]+)+$/);
  expect(row.summary).toMatch(/^[A-Z].+\.$/);
  expect(row.firstStep).toMatch(/^[A-Z].+\.$/);
});

test('a new consent for a connection is asked for by its user’s name: without it another connection may come of it', () => {
  const steps = new Map(catalogue.map(({ name, firstStep }) => [name, firstStep]));
  for (const name of ['TramlineReauthorize', 'TramlineTokenExpiring'])
    expect([name, steps.get(name)]).toEqual([
      name,
      expect.stringContaining('`tramline connect --user NAME`'),
    ]);
});
