/**
 * An older Node is told in one line what is needed, before anything is loaded that it does not have.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { complaintOfNode, nodeMajorMin } from '../../../src/commands/node-version';
import { repositoryRoot } from '../../support/repository';

test('an older Node is told what is needed in one line, and the one that is needed nothing', () => {
  expect(complaintOfNode('20.20.2')).toMatch(
    /^tramline needs Node 24 or later and this is Node 20\.20\.2: .+\n$/,
  );
  expect(complaintOfNode('8.17.0')).not.toBeNull();
  expect(complaintOfNode('24.0.0')).toBeNull();
  expect(complaintOfNode('100.1.0')).toBeNull();
});

test('what is said to be needed is what the package says', () => {
  const { engines } = JSON.parse(readFileSync(join(repositoryRoot(), 'package.json'), 'utf8'));
  expect(engines.node).toBe(`>=${nodeMajorMin}`);
});
