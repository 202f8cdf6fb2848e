/** The tests of what every store must do, for those who write one. */
import * as core from '#use-cases'
import type { OpenedStore, StoreContractOptions } from './contract.ts'
import { sections } from './sections.ts'
import { type SmallStoreContractOptions, smallStore } from './small-store.ts'
import { VERBS } from './verbs.ts'

export type { Kept, OpenedStore, StoreContractOptions, TestRunner } from './contract.ts'
export type { OpenedSmallStore, SmallStoreContractOptions } from './small-store.ts'

/**
 * Registers the tests of the store contract with your test runner, at once. Each test opens a separate store, and its
 * title says what a store must do. The races take seconds on a database: allow a test half a minute.
 */
export const storeContract = (options: StoreContractOptions): void => {
  if (typeof options?.test !== 'function' || typeof options.openStore !== 'function')
    throw new TypeError('storeContract needs test, such as that of node:test, and openStore.')
  const { test, openStore, openStoreOfEveryEvent } = options
  const named = {
    test,
    openStore: namingMissing(openStore),
    openStoreOfEveryEvent: namingMissing(openStoreOfEveryEvent),
  }
  for (const section of sections) section(core, named)
}

/**
 * Registers the tests of a store that has only the four required parts: activities are logged, and pages created, listed,
 * published, read and deleted.
 */
export const smallStoreContract = (options: SmallStoreContractOptions): void => smallStore(core, options)

/** A store that lacks parts gets ones that throw which verb is missing. */
const namingMissing = <Open extends (() => Promise<OpenedStore>) | undefined>(open: Open) =>
  open &&
  (async () => {
    const opened = await open()
    const store = opened.store as Record<string, unknown>
    for (const part of Object.keys(VERBS))
      store[part] ??= new Proxy(
        {},
        {
          get: (_, verb) => {
            throw new TypeError(`The store has no ${part}.${String(verb)}.`)
          },
        },
      )
    return opened
  })
