import { call, Problem } from './api.ts'

const shown = (value: unknown): string => {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > 80 ? `${text.slice(0, 80)}…` : text
}

/** A resource as the reader sees it. Conflicting changes by someone else are refused, with the differences. */
export const heldResource = <T extends object>(url: string) => {
  let value: T
  let etag: string | null = null
  const take = (answer: { readonly value: T; readonly etag: string | null }): void => {
    ;({ value, etag } = answer)
  }
  return {
    get value(): T {
      return value
    },
    /** Whether it differs from the previous one. */
    read: async (signal?: AbortSignal): Promise<boolean> => {
      const answer = await call<T>('GET', url, { etag, signal })
      if (answer.status === 304) return false
      take(answer)
      return true
    },
    /** Returns a function that changes it as seen now, even if it is read again since: take it when a dialog opens. */
    hold: () => {
      let seen = { value, etag }
      return async (method: string, path: string, body?: object): Promise<void> => {
        try {
          const answer = await call<T>(method, path, { body, ifMatch: seen.etag })
          if (answer.value === undefined) return
          // The change is made: a failure to read it again does not make it fail.
          const now = method === 'PATCH' ? answer : await call<T>('GET', url).catch(() => null)
          if (now) take(now)
        } catch (error) {
          if (!(error instanceof Problem) || error.status !== 412) throw error
          const before = { ...seen.value } as Readonly<Record<string, unknown>>
          take(await call<T>('GET', url))
          seen = { value, etag }
          const differs = ([name, now]: [string, unknown]) =>
            name !== 'updatedAt' && JSON.stringify(now) !== JSON.stringify(before[name])
          const changes = Object.entries(value).filter(differs)
          const list = changes.map(([name, now]) => `${name} is now ${shown(now)}`).join('; ')
          throw new Error(
            `Someone else has changed this: ${list || 'something that is not shown here'}. Your change was not saved. Save again to apply it anyway.`,
          )
        }
      }
    },
  }
}
