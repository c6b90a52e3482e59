// The first step of a page is copied into a shell: an id is one word in its command, and as it is listed beside it.
import { conditionRows, organizationRows } from '../../../src/alert/catalogue';
import { firstStepFor } from '../../../src/alert/first-step';

test('an id that a shell takes for one word stands as it is', () => {
  expect(firstStepFor(organizationRows.terms.firstStep, '4711')).toContain(
    '`tramline organizations probe 4711`',
  );
});

test('an id that a shell would take for more is quoted in a command, and not beside one', () => {
  const id = '47 11; reboot';
  expect(firstStepFor(organizationRows.terms.firstStep, id)).toContain(
    "`tramline organizations probe '47 11; reboot'`",
  );
  expect(firstStepFor(conditionRows['token-expiring'].firstStep, id)).toContain('Find 47 11; reboot in `');
  expect(firstStepFor('Run `a {id}` of {id}.', '{id} $&')).toBe("Run `a '{id} $&'` of {id} $&.");
});
