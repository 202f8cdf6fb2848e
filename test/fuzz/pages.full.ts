import assert from 'node:assert/strict'
import fc from 'fast-check'
import { opened, overStores } from '../support/stores.ts'
import { pageBody } from './bodies.ts'
import { PAGE, verdictOn } from './expected.ts'
import { shallowJson, spelled, spelling } from './json-texts.ts'
import { always, type Heard, openFuzz } from './scene.ts'
import { anyText } from './texts.ts'

const RUNS = 200
const TOGETHER_MAX = 4
const NONE = Buffer.alloc(0)
const body = fc.oneof({ weight: 12, arbitrary: pageBody }, { weight: 1, arbitrary: fc.constant(NONE) })

overStores(async (t, kind) => {
  const world = await openFuzz(await opened(t, kind))

  t.test('a page is created exactly when its body is as specified, and read as sent', async (t) => {
    const group = await world.newGroup({ title: '\u200b "Title" \n' })
    const { pageGroupId } = group
    const pages = `/v0/page_groups/${pageGroupId}/pages`
    const counts = { created: 0, refused: 0 }

    const look = async (sent: Buffer, { status, code, faults, json }: Heard) => {
      const verdict = sent.length === 0 ? NO_FIELDS : verdictOn(PAGE, sent)
      assert.equal(code, verdict.code)
      if (verdict.code !== null) {
        counts.refused++
        if (verdict.code === 'invalid_request') assert.deepEqual(faults, [...verdict.pointers].sort())
        return
      }
      counts.created++
      assert.deepEqual([status, json['pageGroupId'], json['status']], [201, pageGroupId, 'processing'])
      const { customName = null, supplementaryContext = null } = verdict.fields
      const page = (await world.ask('GET', `${pages}/${json['pageId']}`)).json
      assert.deepEqual([page['customName'], page['supplementaryContext']], [customName, supplementaryContext])
      const computedName = String(page['computedName'])
      assert.match(computedName, /^[^\p{Cc}\p{Zl}\p{Zp}]{1,120}$/u)
      assert.equal(computedName.trim(), computedName)
      const isNamed = typeof customName === 'string' && customName.trim() !== ''
      assert.equal(page['effectiveName'], isNamed ? customName : computedName)
      const { items } = (await world.ask('GET', `${pages}?limit=100`)).json as { items: { pageId: string }[] }
      assert.ok(items.some(({ pageId }) => pageId === json['pageId']))
    }

    const together = fc.array(body, { minLength: 1, maxLength: TOGETHER_MAX })
    const property = fc.asyncProperty(together, async (bodies) => {
      const [, ...answers] = await Promise.all([
        world.stillFine(),
        ...bodies.map((body) => world.ask('POST', pages, { body })),
      ])
      for (const [i, answer] of answers.entries()) await look(bodies[i] as Buffer, answer)
    })
    await always(t, property, RUNS)

    const found = await world.store.pageGroups.find(group)
    t.equal(found?.pagesCount, counts.created, 'as many pages as were acknowledged')
    t.comment(JSON.stringify(counts))
    t.ok(counts.created > RUNS / 2 && counts.refused > 20, 'all of it came about')
  })

  t.test('a page group is listed as it was given, whatever its texts and lists hold', async (t) => {
    const list = fc.tuple(fc.array(shallowJson, { maxLength: 2 }), spelling)
    const storable = anyText.map((text) => text.toWellFormed().replaceAll('\0', ''))
    const group = fc.record({ name: storable, title: storable, pageContext: storable, actions: list })
    const property = fc.asyncProperty(group, async ({ actions: [elements, way], ...texts }) => {
      const rawJson = spelled({ elements }, way)
      const { pageGroupId } = await world.newGroup({ ...texts, actions: { rawJson } })
      const answer = await world.ask('GET', '/v0/page_groups?limit=1')
      const { items } = answer.json as { items: Record<string, unknown>[] }
      const [item] = items
      assert.equal(item?.['pageGroupId'], pageGroupId)
      for (const [field, text] of Object.entries(texts)) assert.equal(item?.[field], text)
      assert.ok(answer.body.includes(`"actions":${rawJson},`), 'its list as it was spelled')
    })
    await always(t, property, 100)
  })
})

const NO_FIELDS = { code: null, fields: {} as Readonly<Record<string, unknown>> } as const
