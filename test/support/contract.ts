import type { Store } from '../../src/core/ports/store.ts'
import * as core from '../../src/entry/use-cases.ts'
import type { Section } from '../store-contract/contract.ts'
import { sections } from '../store-contract/sections.ts'
import { signals } from '../store-contract/signals.ts'
import { overStores, type StoreKind } from './stores.ts'

/** Tests the store contract on one kind of store. */
export const testContractOn = (name: StoreKind['name'], parts: readonly Section[] = sections): void =>
  overStores(
    async (t, kind) => {
      const test = (title: string, body: () => Promise<void>) =>
        t.test(title, async (t) => {
          await body()
          // tap counts a test without tap's assertions as skipped.
          t.pass('no assertion failed')
        })
      const openListening = async () => {
        const tested = await kind.open()
        if (['postgres', 'tenant-routed', 'citus'].includes(kind.name)) await listening(tested.store)
        return tested
      }
      for (const section of parts)
        section(core, {
          test,
          openStore: section === signals ? openListening : () => kind.open(),
          openStoreOfEveryEvent: () => kind.open(true),
        })
    },
    [name],
  )

/** PostgreSQL emits every signal once when listening begins; a test that counts signals must not see those. */
const listening = ({ watch }: Store): Promise<void> =>
  new Promise((resolve) => watch((signal) => signal === 'versions' && resolve()))
