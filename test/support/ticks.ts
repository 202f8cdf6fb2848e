/** Waits for this many ticks of the event loop, in which everything happens that waits for nothing from outside. */
export const ticks = async (count = 1): Promise<void> => {
  for (let tick = 0; tick < count; tick++) await new Promise((resolve) => setImmediate(resolve))
}
