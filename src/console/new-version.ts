import { writeJson } from '../json/write-json.ts'
import type { VersionWithContent } from '../shapes/page.ts'
import { call, memberOf, path } from './api.ts'
import { contentField, typedContent } from './content-field.ts'
import { ask } from './dialog.ts'
import { h } from './dom.ts'
import { area } from './fields.ts'
import { pretty } from './json-view.ts'

/** Asks for a version, beginning with the fields of the newest one. */
export const createVersion = async (url: string, newestId: string | undefined, done: () => Promise<void>) => {
  const newest = newestId && (await call<VersionWithContent>('GET', `${url}${path`/versions/${newestId}`}`))
  const exact = newest ? memberOf(newest.text, 'content') : 'null'
  const before = exact === 'null' ? '' : pretty(exact)
  const context = newest ? newest.value.supplementaryContext : null
  ask({
    title: 'New version',
    action: 'Create',
    body: [
      area('What is it about?', 'supplementaryContext', { value: context }),
      contentField(before),
      h(
        'label.check',
        {},
        h('input', { type: 'checkbox', name: 'publish', checked: true }),
        'Publish when ready',
      ),
    ],
    run: async ({ supplementaryContext, content, publish }) => {
      // Untouched content stays unchanged, byte for byte.
      const changed = content === before ? {} : { content: typedContent(content) }
      const body = writeJson({
        supplementaryContext: supplementaryContext || null,
        publish: publish === 'on',
        ...changed,
      })
      await call('POST', `${url}/versions`, { body })
      await done()
    },
  })
}
