import t from 'tap'
import { createNewId } from '../../src/adapters/ids.ts'
import { memoryStore } from '../../src/adapters/memory/store.ts'
import { createProspects } from '../../src/core/prospects/create-prospects.ts'
import { createTenant } from '../../src/core/tenants/create-tenant.ts'
import type { CsvColumns } from '../../src/maintenance/csv.ts'
import { exportProspects } from '../../src/maintenance/export.ts'
import type { ReportedLine } from '../../src/maintenance/import-lines.ts'
import { importProspects } from '../../src/maintenance/import-prospects.ts'
import type { AttributesMode } from '../../src/shapes/attributes.ts'

type Options = {
  readonly csv?: CsvColumns
  readonly isCsv?: boolean
  readonly attributesMode?: AttributesMode
}

/** A tenant into which files are imported, and from which they are exported. */
const openScene = async () => {
  const deps = { store: memoryStore(), clock: Date.now, newId: createNewId() }
  const { tenantId } = await createTenant(deps)({ name: 'a tenant' })
  const reported: ReportedLine[] = []
  const importText = async (text: string, { csv = {}, isCsv = true, attributesMode }: Options = {}) => {
    async function* chunks() {
      yield Buffer.from(text)
    }
    const input = {
      ...{
        store: deps.store,
        tenantId,
        fromLine: 1,
        lineBytesMax: 1_000_000,
        chunks: chunks(),
        csv,
        attributesMode,
      },
      stop: new AbortController().signal,
      onReported: (line: ReportedLine) => reported.push(line),
      onProgress: () => {},
    }
    const { imported, why, ignored } = await importProspects(createProspects(deps))(input, isCsv)
    if (why !== null) throw why
    return { ...imported, ignored }
  }
  const exported = async (isCsv = true) => {
    const lines: string[] = []
    for await (const { rawJson } of exportProspects(deps.store, tenantId, isCsv)) lines.push(rawJson)
    return `${lines.join('\n')}\n`
  }
  /** Those of all people, in the order of their emails. */
  const attributes = () => {
    const byEmail = deps.store.kept.prospects().sort((a, b) => ((a.email ?? '') < (b.email ?? '') ? -1 : 1))
    return byEmail.map((prospect) => prospect.attributes?.rawJson ?? null)
  }
  return { importText, exported, attributes, reported }
}

t.test('other columns are attributes, and empty fields are none', async (t) => {
  const { importText, attributes } = await openScene()
  const file = 'Company,Email,Phone,a.b/c\nEngines,ada@x.example,,1\n,bob@x.example, ,\n'
  t.match(await importText(file), { created: 2, refused: 0, ignored: [] })
  t.strictSame(attributes(), ['{"Company":"Engines","a.b/c":"1"}', null])
})

t.test('an import fills blanks, and overwrites if it is told to', async (t) => {
  const { importText, attributes } = await openScene()
  await importText('email,company\nada@x.example,Engines\n')
  await importText('email,company,city\nada@x.example,Other,London\n')
  t.strictSame(attributes(), ['{"company":"Engines","city":"London"}'])
  await importText('email,company,city\nada@x.example,Other,\n', { attributesMode: 'overwrite' })
  t.strictSame(attributes(), ['{"company":"Other","city":"London"}'])
})

t.test(
  'ids and times of an export are never attributes, nor are other columns if they are ignored',
  async (t) => {
    const { importText, attributes } = await openScene()
    await importText('email,prospectId,tenantId,createdAt,updatedAt,city\nada@x.example,p,t,c,u,London\n')
    t.strictSame(attributes(), ['{"city":"London"}'])
    await importText('email,company\nbob@x.example,Engines\n', { csv: { ignoresOthers: true } })
    t.strictSame(attributes(), ['{"city":"London"}', null])
  },
)

t.test('a column without a name, or with a long one, is refused before the first row', async (t) => {
  for (const name of ['', 'x'.repeat(65)]) {
    const { importText, attributes } = await openScene()
    await t.rejects(importText(`${name},email\na,ada@x.example\n`), {
      message: /^The column ".*" is unknown/,
    })
    t.strictSame(attributes(), [])
  }
})

t.test('a value that is too long refuses its line, and the fifty-first is named as ignored', async (t) => {
  const { importText, attributes, reported } = await openScene()
  const names = Array.from({ length: 52 }, (_, i) => `n${i}`)
  const rows = [
    names.map(() => 'x'),
    names.map((_, i) => (i < 2 ? '' : 'y')),
    ['x'.repeat(1_001), ...names.slice(1)],
  ]
  const file = [['email', ...names], ...rows.map((row, i) => [`p${i}@x.example`, ...row])]
  const result = await importText(file.map((row) => row.join()).join('\n'))
  t.match(result, { created: 2, refused: 1, ignored: ['attributes/n50', 'attributes/n51'] })
  t.match(reported, [{ line: 4, errors: [{ pointer: '/attributes/n0' }] }])
  t.equal(
    attributes()
      .map((text) => Object.keys(JSON.parse(text ?? '')).length)
      .join(),
    '50,50',
  )
})

t.test('attributes in JSON lines keep their digits, and an export is imported as it is', async (t) => {
  const { importText, exported, attributes } = await openScene()
  const text = '{"n":12345678901234567890,"__proto__":1.0,"on":true,"text":"a\\"b"}'
  await importText(`{"email":"ada@x.example","attributes":${text}}\n`, { isCsv: false })
  t.strictSame(attributes(), [text])
  const lines = await exported(false)
  const other = await openScene()
  t.match(await other.importText(lines, { isCsv: false }), { created: 1, ignored: [] })
  t.strictSame(other.attributes(), [text])
  t.equal(
    await exported(),
    'externalId,email,name,n,__proto__,on,text\n,ada@x.example,,12345678901234567890,1.0,true,"a""b"\n',
  )
})

t.test('attributes with the names of other columns come back under their own', async (t) => {
  const names = [
    'email',
    'E-Mail',
    'Name',
    'externalId',
    'createdAt',
    'attributes/x',
    'Company',
    'company',
    'a,b',
    'a\nb',
  ]
  const text = `{${names.map((name, i) => `${JSON.stringify(name)}:"${i}"`)}}`
  const { importText, exported } = await openScene()
  await importText(`{"email":"ada@x.example","attributes":${text}}\n`, { isCsv: false })
  const other = await openScene()
  await other.importText(await exported())
  t.strictSame(other.attributes(), [text])
})

t.test('10,000 contacts with twelve columns are the same file again', async (t) => {
  const columns = [
    'company',
    'phone',
    'city',
    'country',
    'job title',
    'size',
    'Lead Source',
    'notes',
    'since',
  ]
  const header = ['externalId', 'email', 'name', ...columns].join()
  const rows = Array.from({ length: 10_000 }, (_, i) =>
    [
      ...[`crm-${i}`, `person${i}@x.example`, `Person Number ${i}`],
      ...[`"Company ${i}, Inc."`, `+44 20 ${1_000_000 + i}`, i % 7 ? 'Zürich' : '東京', 'CH', `"""${i}"""`],
      ...[`${i}`, i > 0 && i % 3 === 0 ? '' : 'website', `"first\nsecond ${i}"`, '2026-11-22'],
    ].join(),
  )
  const file = `${header}\n${rows.join('\n')}\n`
  const { importText, exported } = await openScene()
  t.match(await importText(file), { read: 10_000, created: 10_000, refused: 0, conflicts: 0, ignored: [] })
  t.ok((await exported()) === file, 'byte for byte')
  t.match(await importText(file), { found: 10_000, created: 0 })
  t.ok((await exported()) === file, 'and again')
})
