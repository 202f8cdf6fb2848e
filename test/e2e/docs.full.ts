import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { ROUTES } from '../../src/adapters/http/routes.ts'
import { startBrowser, whyNoBrowser } from '../support/browser.ts'
import { embeddedDatabase, newFolder, seed, startProgram } from '../support/program.ts'

const skip = whyNoBrowser()

t.setTimeout(0)
const WIDE = { width: 1_280, height: 900 }
const PHONE = { width: 390, height: 844 }

/** The page at `/docs` of a running server, and all that went wrong while it was open. */
const open = async (t: Test, browser: Browser, url: string, options: BrowserContextOptions) => {
  const context = await browser.newContext(options)
  t.teardown(() => context.close())
  const page = await context.newPage()
  page.setDefaultTimeout(60_000)
  const wrong: string[] = []
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) wrong.push(`console: ${message.text()}`)
  })
  page.on('pageerror', ({ message }) => wrong.push(`thrown: ${message}`))
  page.on('requestfailed', (request) => wrong.push(`failed: ${request.url()}`))
  page.on('request', (request) => {
    const isHere = request.url().startsWith(`${url}/`) || request.url().startsWith('data:')
    if (!isHere) wrong.push(`to another host: ${request.url()}`)
  })
  await page.goto(`${url}/docs`)
  await page.locator('.opblock').first().waitFor()
  return { page, wrong }
}

const giveKey = async (page: Page, apiKey: string) => {
  await page.getByRole('button', { name: 'Authorize' }).click()
  const form = page.locator('.modal-ux')
  await form.locator('input').fill(apiKey)
  await form.locator('button[type=submit]').click()
  await form.getByRole('button', { name: 'Close' }).last().click()
}

/** Opens an operation, fills in what a path or a query needs, calls it, and folds it again; answers what was shown. */
const call = async (page: Page, operationId: string, fields: Record<string, string> = {}) => {
  const block = page.locator(`.opblock[id$="-${operationId}"]`)
  await block.locator('.opblock-summary-control').click()
  const name = (field: string) => block.locator(`tr[data-param-name="${field}"] input`)
  for (const [field, value] of Object.entries(fields)) await name(field).fill(value)
  await block.getByRole('button', { name: 'Execute' }).click()
  const shown = block.locator('.live-responses-table')
  await shown.waitFor()
  const status = (await shown.locator('tbody .response-col_status').first().textContent())?.trim()
  const body = JSON.parse((await shown.locator('.highlight-code pre').first().textContent()) ?? '')
  await block.locator('.opblock-summary-control').click()
  return { status, body }
}

/** Nothing reaches past the edge of the window, so that no reader has to scroll sideways. */
const fits = (page: Page) => page.evaluate('document.documentElement.scrollWidth <= innerWidth')

t.test('the reference in a browser', { skip: skip ?? false }, async (t) => {
  const { env } = embeddedDatabase(`${newFolder(t)}/test.db`)
  const { apiKey, pageGroupId } = await seed(env)
  const server = await startProgram(t, env)
  t.teardown(async () => {
    await server.stop()
  })
  await server.ready()
  const browser = await startBrowser()
  t.teardown(() => browser.close())

  const path = { page_group_id: pageGroupId }

  t.test('by keyboard alone a key is given and an operation called; then each as it stands', async (t) => {
    const { page, wrong } = await open(t, browser, server.url, { viewport: WIDE, colorScheme: 'light' })
    t.equal(await page.locator('.opblock').count(), ROUTES.length)
    t.ok(await fits(page))
    const focused = (what: string) => page.evaluate(`document.activeElement.matches(${JSON.stringify(what)})`)
    const tabTo = async (what: string) => {
      for (let pressed = 0; pressed < 120; pressed++) {
        await page.keyboard.press('Tab')
        if (await focused(what)) return
      }
      t.fail(`the tab key never reaches ${what}`)
    }
    await tabTo('.btn.authorize')
    const outline = () => page.evaluate('getComputedStyle(document.activeElement).outlineStyle')
    t.equal(await outline(), 'solid', 'seen')
    await page.keyboard.press('Enter')
    await page.locator('.modal-ux input').waitFor()
    if (!(await focused('.modal-ux input'))) await tabTo('.modal-ux input')
    await page.keyboard.type(apiKey)
    await page.keyboard.press('Enter')
    await page.locator('.modal-ux').getByText('Authorized', { exact: true }).waitFor()
    await page.keyboard.press('Escape')
    await page.locator('.modal-ux').waitFor({ state: 'detached' })

    await tabTo('[id$="-listPageGroups"] .opblock-summary-control')
    t.equal(await outline(), 'solid', 'seen')
    await page.keyboard.press('Enter')
    await page.locator('.btn.execute').waitFor()
    await tabTo('.btn.execute')
    await page.keyboard.press('Enter')
    const shown = page.locator('.live-responses-table .highlight-code pre').first()
    await shown.waitFor()
    t.match(JSON.parse((await shown.textContent()) ?? ''), { items: [{ pageGroupId }] })
    await page.locator('[id$="-listPageGroups"] .opblock-summary-control').click()

    const logged = await call(page, 'logProspectActivity')
    t.match(logged, { status: '201', body: { source: 'crm' } })
    const prospect = { prospect_id: logged.body.prospectId }
    t.match(await call(page, 'getProspect', prospect), {
      status: '200',
      body: { prospectId: prospect.prospect_id },
    })
    const { body } = await call(page, 'createPageWithVersion', path)
    const read = await call(page, 'getPage', { ...path, page_id: body.pageId })
    t.match(read, { status: '200', body: { pageId: body.pageId } })
    t.strictSame(wrong, [])
  })

  t.test(
    'on a phone, in the dark: shows fields, calls with a key, and forgets it with the page',
    async (t) => {
      const { page, wrong } = await open(t, browser, server.url, { viewport: PHONE, colorScheme: 'dark' })
      const block = page.locator('.opblock[id$="-logProspectActivity"]')
      await block.locator('.opblock-summary-control').click()
      await block.getByRole('textbox', { name: 'Request body' }).waitFor()
      const rowOf = (field: string) => block.getByRole('row').filter({ hasText: field })
      t.match(
        await rowOf('The kind of activity').innerText(),
        /type\s.*1 to 100 characters, default: webhook/s,
      )
      t.match(await rowOf('system that sends').innerText(), /source\s+string, required/)
      const endpoint = page.locator('.opblock[id$="-createWebhookEndpoint"]')
      await endpoint.locator('.opblock-summary-control').click()
      const types = endpoint.getByRole('row').filter({ hasText: 'types of events' })
      t.match(await types.innerText(), /types\s+array, or null, one of prospect\.created, /)
      await endpoint.locator('.opblock-summary-control').click()
      await page.locator('.opblock[id$="-listPageGroups"] .opblock-summary-control').click()
      await page.getByRole('combobox', { name: 'status' }).waitFor()
      await block.getByRole('combobox', { name: 'examples' }).first().waitFor()
      const unnamed = page.locator('select:not([aria-label])')
      t.equal(await unnamed.count(), 0, 'each choice has a name')
      const folded = block.locator('details', { hasText: 'missing_api_key' })
      const example = folded.locator('.highlight-code')
      t.notOk(await example.isVisible())
      await folded.locator('summary').click()
      await example.waitFor()
      t.match(await page.locator('h1, h2, h3').allTextContents(), [
        /prospect-pages/,
        'Operations',
        /Activities/,
        /Prospects/,
        /Page groups/,
        /Pages/,
        /Versions/,
      ])
      t.ok(await fits(page))
      for (const opened of ['logProspectActivity', 'listPageGroups'])
        await page.locator(`.opblock[id$="-${opened}"] .opblock-summary-control`).click()

      await giveKey(page, apiKey)
      const [red = 255] = await page.evaluate<number[]>(
        'getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).map(Number)',
      )
      t.ok(red < 64, 'the ground is dark')
      const created = await call(page, 'createPageWithVersion', path)
      t.match(created, { status: '201', body: { pageGroupId, status: 'processing' } })
      t.ok(await fits(page))
      await page.emulateMedia({ colorScheme: 'light' })
      await page.locator('html:not(.dark-mode)').waitFor()
      t.ok(await fits(page), 'and in the light again')
      t.strictSame(wrong, [])

      await page.reload()
      await page.locator('.opblock').first().waitFor()
      t.match(await call(page, 'listPageGroups'), { status: '401', body: { code: 'missing_api_key' } })
      t.equal(await page.evaluate('localStorage.length + sessionStorage.length + document.cookie.length'), 0)
    },
  )
})
