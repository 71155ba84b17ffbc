/** How many of the first items stay within the limits of number and total weight. The first item always counts. */
export function countWithin<T>(
  items: readonly T[],
  most: { items?: number; weight: number },
  weightOf: (item: T) => number,
): number {
  let weight = 0;
  const end = items.findIndex((item, index) => {
    weight += weightOf(item);
    return index === most.items || (index > 0 && weight > most.weight);
  });
  return end === -1 ? items.length : end;
}
