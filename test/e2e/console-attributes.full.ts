import t from 'tap'
import { noConsole, sharedConsole } from '../support/console.ts'
import { until } from '../support/program.ts'

const skip = noConsole
const consoleWindow = sharedConsole()
t.afterEach(consoleWindow.leave)

t.test('the fields of a person are shown, renamed, changed, added and removed', { skip }, async (t) => {
  const { call } = await consoleWindow.scene()
  const attributes = { company: 'Engines', size: 12, city: 'London', __proto__: undefined, '<b>': '<i>' }
  const created = await call('POST', '/v0/prospects', { email: 'fields@example.com', attributes })
  const { prospectId } = created.body
  const { page, shows } = await consoleWindow.open(`people/${prospectId}`)
  await shows('Engines')
  await shows('<i>')

  await page.getByRole('button', { name: 'Edit…' }).click()
  await page.locator('dialog [name=name]').fill('Ada')
  await page.locator('dialog [name=label0]').fill('Company')
  await page.locator('dialog [name=label1]').fill('employees')
  await page.locator('dialog [name=value2]').fill('')
  await page.locator('dialog [name=label4]').fill('constructor')
  await page.locator('dialog [name=value4]').fill('+44 20 7946 0018')
  await page.getByRole('button', { name: 'Save' }).click()

  await shows('+44 20 7946 0018')
  const read = async () => (await call('GET', `/v0/prospects/${prospectId}`)).body
  await until('it is saved', async () => (await read()).attributes.Company === 'Engines')
  t.match(await read(), { name: 'Ada', email: 'fields@example.com' })
  t.strictSame(Object.entries((await read()).attributes).sort(), [
    ['<b>', '<i>'],
    ['Company', 'Engines'],
    ['constructor', '+44 20 7946 0018'],
    ['employees', 12],
  ])
})
