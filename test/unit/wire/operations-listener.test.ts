// A running service loads nothing when it is asked: by then its files may be of another version, or none may be opened.
let isLoaded = false;
jest.mock('../../../src/wire/topics', () => {
  isLoaded = true;
  return jest.requireActual('../../../src/wire/topics');
});

test('whoever serves what operators ask has the check of Kafka loaded', () => {
  require('../../../src/wire/operations');
  expect(isLoaded).toBe(false);
  require('../../../src/wire/operations-listener');
  expect(isLoaded).toBe(true);
});
