import { call, Problem } from './api.ts'

/** A resource as the reader sees it. A change is refused if someone else has changed the resource in the meantime. */
export const heldResource = <T extends object>(url: string) => {
  let value: T
  let etag: string | null = null
  const set = (answer: { readonly value: T; readonly etag: string | null }): void => {
    value = answer.value
    etag = answer.etag
  }
  return {
    get value(): T {
      return value
    },
    /** Reads it again. Returns whether it has changed. */
    read: async (signal?: AbortSignal): Promise<boolean> => {
      const answer = await call<T>('GET', url, { etag, signal })
      if (answer.status === 304) return false
      set(answer)
      return true
    },
    /**
     * Returns a function that changes the resource as the reader sees it now, even if it is read again in the meantime.
     * Call this when a dialog opens.
     */
    hold: () => {
      let seen = { value, etag }
      return async (method: string, path: string, body?: object): Promise<void> => {
        try {
          const answer = await call<T>(method, path, { body, ifMatch: seen.etag })
          if (answer.value === undefined) return
          // The change is saved: it does not fail if the resource cannot be read again.
          const current = method === 'PATCH' ? answer : await call<T>('GET', url).catch(() => null)
          if (current) set(current)
        } catch (error) {
          if (!(error instanceof Problem) || error.status !== 412) throw error
          const before = seen.value
          set(await call<T>('GET', url))
          seen = { value, etag }
          throw new Error(
            `Someone else has changed this: ${differencesOf(before, value)}. Your change was not saved. Save again to apply it anyway.`,
          )
        }
      }
    },
  }
}

/** What changes to people, by the names of its members. */
const WORDS: Readonly<Record<string, string>> = {
  customName: 'the name',
  name: 'the name',
  title: 'the title',
  pageContext: 'the context',
  status: 'the state',
  supplementaryContext: 'what it is about',
  publishedVersion: 'what readers get',
  latestVersion: 'the newest version',
  unpublishAt: 'the time at which it is unpublished',
}

const differencesOf = (before: object, after: object): string => {
  const beforeMembers = before as Readonly<Record<string, unknown>>
  const changes = Object.entries(after)
    .filter(([name, now]) => JSON.stringify(now) !== JSON.stringify(beforeMembers[name]))
    .flatMap(([name, now]) => (WORDS[name] ? [`${WORDS[name]} is now ${briefly(now)}`] : []))
  return changes.join('; ') || 'something that is not shown here'
}

const briefly = (value: unknown): string => {
  if (value === null) return 'empty'
  const { versionNumber } = value as { versionNumber?: number }
  if (versionNumber !== undefined) return `version ${versionNumber}`
  const text = String(value)
  return `“${text.length > 80 ? `${text.slice(0, 80)}…` : text}”`
}
