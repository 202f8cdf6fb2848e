import type { NewLog, Store } from 'prospect-pages/store'
import { addTenant, type SomeProspect } from './rows.ts'

/** The use cases that work on the store under test. */
export type Core = typeof import('#use-cases')

/** Registers a test, like `test` of node:test and Vitest, or `it` of Mocha and Jest. */
export type TestRunner = (title: string, body: () => Promise<void>) => unknown

/** The recorded prospects and logs, each in the order of their ids. */
export type Kept = {
  readonly prospects: readonly SomeProspect[]
  readonly logs: readonly NewLog[]
}

/** A store for one test: migrated and empty. */
export type OpenedStore = {
  readonly store: Store
  /**
   * Opens another store on the same data, as another process would. Without it the tests of several processes use the
   * one store.
   */
  readonly another?: (() => Promise<Store>) | undefined
  /** Reads every prospect and log. No verb of a store returns a payload, so only this shows that it was kept. */
  readonly kept: () => Promise<Kept>
  /** Called when the test ends: closes every store that was opened, and removes the data. */
  readonly close: () => Promise<unknown>
}

/** The dependencies of the suite: a test runner, and a way to open a store. */
export type StoreContractOptions = {
  readonly test: TestRunner
  /** Called once for each test. */
  readonly openStore: () => Promise<OpenedStore>
  /** The same for a store that keeps the events of every tenant, if yours can. */
  readonly openStoreOfEveryEvent?: (() => Promise<OpenedStore>) | undefined
}

/** The argument of a test. */
export type Subject = Required<OpenedStore> & {
  readonly another: () => Promise<Store>
  readonly core: Core
  /** Adds a tenant, and returns its id. */
  readonly newTenant: () => Promise<string>
}
/** Registers the tests of one subject. */
export type Section = (core: Core, options: StoreContractOptions) => void

/** Tests by title. `settingOf` makes the helpers that they share. */
export const section =
  <Setting extends object>(
    name: string,
    settingOf: (subject: Subject) => Setting | Promise<Setting>,
    tests: Readonly<Record<string, (scene: Subject & Setting) => Promise<void>>>,
    open: 'openStore' | 'openStoreOfEveryEvent' = 'openStore',
  ): Section =>
  (core, { test, [open]: openStore }) => {
    if (openStore === undefined) return
    for (const [title, body] of Object.entries(tests))
      test(`${name}: ${title}`, async () => {
        const opened = await openStore()
        try {
          const { store, another = async () => store } = opened
          const newTenant = async () => (await addTenant(store)).tenantId
          const subject = { ...opened, another, core, newTenant }
          await body({ ...subject, ...(await settingOf(subject)) })
        } finally {
          await opened.close()
        }
      })
  }
