/** The values of one set of labels, counted in buckets. */
export const countsOf = (name: string, labels: object, buckets: readonly number[]) => {
  const counts = [...buckets, Number.POSITIVE_INFINITY].map(() => 0)
  let sum = 0
  return {
    observe: (value: number): void => {
      let bucket = 0
      while (value > (buckets[bucket] ?? Number.POSITIVE_INFINITY)) bucket++
      counts[bucket] = (counts[bucket] ?? 0) + 1
      sum += value
    },
    samples: (): object[] => {
      let value = 0
      const cumulative = counts.map((count, i) => {
        value += count
        return { metricName: `${name}_bucket`, labels: { ...labels, le: buckets[i] ?? '+Inf' }, value }
      })
      return [
        ...cumulative,
        { metricName: `${name}_sum`, labels, value: sum },
        { metricName: `${name}_count`, labels, value },
      ]
    },
  }
}

/** The same function, which observes how many seconds each call takes. */
export const timed =
  <Args extends readonly unknown[], Answer>(
    call: (...args: Args) => Promise<Answer>,
    observe: (seconds: number) => void,
  ) =>
  (...args: Args): Promise<Answer> => {
    const beganMs = performance.now()
    const end = () => observe((performance.now() - beganMs) / 1_000)
    const answer = call(...args)
    // The caller handles the error.
    Promise.resolve(answer).then(end, end)
    return answer
  }
