/**
 * One list after the other, while the first answers of the next ones are on their way: for whoever asks for many that are
 * short. What is read keeps its order.
 */

/**
 * Yields what `read` yields of each place, in the order of the places. At most `atOnce` lists are begun at once, and no more
 * than have ended: the first ones teach where the others stand. Each that is ahead waits at the first thing that it shows.
 * Throws what `read` throws; where it is left, every list that was begun is left.
 */
export async function* readAhead<Place, Thing>(
  places: Iterable<Place>,
  atOnce: number,
  read: (place: Place) => AsyncGenerator<Thing, void>,
): AsyncGenerator<Thing, void> {
  const waiting = places[Symbol.iterator]();
  const begun: { list: AsyncGenerator<Thing, void>; first: Promise<IteratorResult<Thing, void>> }[] = [];
  try {
    for (let ended = 0; ; ended += 1) {
      while (begun.length < Math.min(atOnce, Math.max(ended, 1))) {
        const place = waiting.next();
        if (place.done) break;
        const list = read(place.value);
        const first = list.next();
        // Whoever comes to it hears of it.
        first.catch(() => {});
        begun.push({ list, first });
      }
      const [head] = begun;
      if (head === undefined) return;
      for (let step = await head.first; !step.done; step = await head.list.next()) yield step.value;
      begun.shift();
    }
  } finally {
    await Promise.allSettled(begun.map(({ list }) => list.return()));
  }
}
