import type { Page } from 'playwright-core'
import t from 'tap'
import { noConsole, openConsole, PHONE, press, sharedConsole, startConsole } from '../support/console.ts'
import { answerOf, until } from '../support/program.ts'

t.test('what is shown is what is so now', { skip: noConsole }, async (t) => {
  const { server, browser, call, apiKey, pageGroupId, env } = await startConsole(t)
  const { open, leave } = sharedConsole(t, browser, server.url, { key: apiKey })
  t.afterEach(leave)
  const log = (email: string, more: object = {}) =>
    call('POST', '/v0/prospect_logs', { source: 'crm', email, payload: {}, ...more })
  /** A key of another tenant, by name. It expires in five minutes. */
  const otherTenant = async (): Promise<string> => {
    const { tenantId } = await answerOf(['tenants', 'create', '--name', 'Other'], env)
    return (
      await answerOf(['keys', 'create', '--tenant', tenantId, '--scope', 'all', '--expires', '5m'], env)
    ).apiKey
  }
  const pages = `/v0/page_groups/${pageGroupId}/pages`
  /** Holds back the answers to what is asked for. */
  const hold = (page: Page, what: RegExp) => {
    const begun = Promise.withResolvers<void>()
    const released = Promise.withResolvers<void>()
    void page.route(what, async (route) => {
      const response = await route.fetch()
      begun.resolve()
      await released.promise
      await route.fulfill({ response }).catch(() => {})
    })
    const release = async () => {
      const answered = page.waitForResponse(what)
      released.resolve()
      await answered
      await page.unrouteAll({ behavior: 'wait' })
      for (let frames = 0; frames < 3; frames++) await page.evaluate('new Promise(requestAnimationFrame)')
    }
    return { begun: () => begun.promise, release }
  }
  /** A page with two versions, of which the first is published. */
  const newPage = async (): Promise<string> => {
    const { pageId } = (await call('POST', pages, { content: { a: 1 } })).body
    const read = async () => (await call('GET', `${pages}/${pageId}`)).body
    await until('the first is published', async () => (await read()).publishedVersion)
    await call('POST', `${pages}/${pageId}/versions`, { content: { a: 2 }, publish: false })
    await until('the second is ready', async () => (await read()).latestVersion.status === 'ready')
    return pageId
  }

  t.test(
    'a version that is published by hand is no longer scheduled, nor ready once it is replaced',
    async (t) => {
      const { page, seen } = await open(`pages/${pageGroupId}/${await newPage()}`)
      const second = page.locator('main tbody tr', { hasText: 'Version 2' })
      await page.getByRole('button', { name: 'Later…' }).click()
      await page.locator('dialog [name=publishAt]').fill(`${new Date().getFullYear() + 1}-12-24T09:00`)
      await page.keyboard.press('Enter')
      await second.getByText('scheduled').waitFor()
      await page.getByRole('button', { name: 'Publish', exact: true }).click()
      await seen('Readers get version 2 now.')
      await second.getByText('published', { exact: true }).waitFor()
      t.equal(await second.getByText('scheduled').count(), 0)
      t.equal(await page.getByRole('button', { name: 'Unschedule' }).count(), 0)
      await page.getByRole('button', { name: 'Roll back' }).click()
      await seen('Readers get version 1 now.')
      await second.getByText('published before').waitFor()
    },
  )

  t.test(
    'the sentence names the newest activity that is left after an erasure, even if none is',
    async (t) => {
      const people: string[] = []
      for (let n = 0; n < 12; n++) people.push((await log(`${n}@example.com`)).body.prospectId)
      const { page, seen } = await open('now')
      const rows = page.locator('table.activities tbody tr')
      await seen('by 11@example.com')
      await call('POST', '/v0/erasures', { prospectId: people[5] })
      await rows.getByText('1@example.com', { exact: true }).waitFor()
      t.match(await page.locator('.lead.muted').textContent(), 'by 11@example.com')
      await call('POST', '/v0/erasures', { prospectId: people[11] })
      await seen('by 10@example.com')
      for (const prospectId of people) await call('POST', '/v0/erasures', { prospectId })
      await seen('Nothing has arrived yet')
      t.equal(await rows.count(), 0)
    },
  )

  t.test(
    'what could not be read to its end is read again, though the list has not changed since',
    async (t) => {
      await log('first@example.com')
      const { page, seen } = await open('now')
      await seen('by first@example.com')
      const busy = { status: 503, body: '{"code":"unavailable","detail":"busy"}' }
      await page.route(/prospect_logs\?.*cursor=/, (route) => route.fulfill(busy), { times: 1 })
      const items = Array.from({ length: 30 }, (_, n) => ({
        source: 'crm',
        email: `many${n}@example.com`,
        payload: {},
      }))
      await call('POST', '/v0/prospect_logs/batch', { items })
      await seen('by many29@example.com')

      const url = '/v0/webhook_endpoints'
      const { webhookEndpointId } = (await call('POST', url, { url: 'http://127.0.0.1:9/' })).body
      await log('last@example.com')
      const endpoint = await open(`webhooks/${webhookEndpointId}`)
      await endpoint.seen('failing')
      await endpoint.page.route(/deliveries\?status=pending/, (route) => route.fulfill(busy))
      await call('PATCH', `${url}/${webhookEndpointId}`, { description: 'Ours' })
      await endpoint.seen('Ours')
      await call('DELETE', `${url}/${webhookEndpointId}`)
      t.pass('both are shown')
    },
  )

  t.test('an answer that comes late changes nothing of what was chosen or opened since', async (t) => {
    const url = '/v0/webhook_endpoints'
    const { webhookEndpointId } = (await call('POST', url, { url: 'http://127.0.0.1:9/' })).body
    const { prospectId } = (await log('cleo@example.com')).body
    const endpoint = await open(`webhooks/${webhookEndpointId}`)
    const deliveries = endpoint.page.locator('main tbody tr')
    await endpoint.page.getByText('prospect_log.created').waitFor()
    const held = hold(endpoint.page, /deliveries\?limit=50$/)
    await log('dora@example.com')
    await held.begun()
    await endpoint.page.getByRole('button', { name: 'delivered', exact: true }).click()
    await endpoint.seen('No deliveries.')
    await held.release()
    t.equal(await deliveries.count(), 0, 'none was delivered')
    await call('DELETE', `${url}/${webhookEndpointId}`)

    const person = await open(`people/${prospectId}`)
    await person.page.locator('.timeline .open').waitFor()
    const refreshed = hold(person.page, /\/prospect_logs\?/)
    await log('cleo@example.com', { type: 'came_late' })
    await refreshed.begun()
    await person.page.locator('.timeline .open').click()
    await person.seen('Copy payload')
    await refreshed.release()
    t.equal(await person.page.locator('.detail').count(), 1, 'it is still open')
    await person.page.locator('.timeline .open').click()
    await person.seen('came_late')

    for (let n = 0; n < 10; n++) await log(`${n}@example.org`)
    const now = await open('now')
    await now.seen('by 9@example.org')
    const detail = hold(now.page, /prospect_logs\/prospectlog_/)
    await now.page.getByText('0@example.org', { exact: true }).click()
    await detail.begun()
    await log('next@example.org')
    await now.seen('by next@example.org')
    await detail.release()
    await log('last@example.org')
    await now.seen('by last@example.org')
    t.equal(await now.page.locator('.live').textContent(), 'live', 'nothing is open, so nothing is held')
  })

  t.test('a secret that is shown once is shown, even if Esc was pressed while it was made', async (t) => {
    const { page, seen } = await open('webhooks')
    await page.getByRole('button', { name: 'New endpoint' }).click()
    await page.locator('dialog [name=url]').fill('http://127.0.0.1:9/')
    const created = hold(page, /webhook_endpoints$/)
    await page.getByRole('button', { name: 'Create' }).click()
    await created.begun()
    await page.keyboard.press('Escape')
    await page.locator('dialog').waitFor({ state: 'detached' })
    await created.release()
    await seen(/^whsec_/)
    await page.keyboard.press('Escape')
    await page.locator('dialog').waitFor({ state: 'detached' })
    const { items } = (await call('GET', '/v0/webhook_endpoints')).body
    t.equal(items.length, 1)
    await call('DELETE', `/v0/webhook_endpoints/${items[0].webhookEndpointId}`)
  })

  t.test('the focus stays on the button of its row while another row comes before it', async (t) => {
    const pageId = await newPage()
    const { page, seen } = await open(`pages/${pageGroupId}/${pageId}`)
    await page.getByRole('button', { name: 'Publish', exact: true }).focus()
    await call('POST', `${pages}/${pageId}/versions`, { content: { a: 3 }, publish: false })
    await seen('version 3 is newer and is ready')
    await page.keyboard.press('Enter')
    await seen('Readers get version 2 now.')
    t.equal((await call('GET', `${pages}/${pageId}`)).body.publishedVersion.versionNumber, 2)
  })

  t.test('correcting the email of a person leaves the name that came meanwhile', async (t) => {
    const { prospectId } = (await log('blank@example.com')).body
    const { page, seen } = await open(`people/${prospectId}`)
    await page.getByRole('button', { name: 'Correct…' }).click()
    await log('blank@example.com', { name: 'Filled In' })
    await page.locator('dialog [name=email]').fill('right@example.com')
    await page.keyboard.press('Enter')
    await seen('right@example.com')
    const { email, name } = (await call('GET', `/v0/prospects/${prospectId}`)).body
    t.strictSame({ email, name }, { email: 'right@example.com', name: 'Filled In' })
  })

  t.test('saving a mapping leaves the places that somebody else has changed meanwhile', async (t) => {
    const map = { email: ['/email'], name: ['/name'] }
    const { hookId } = (await call('POST', '/v0/hooks', { source: 'web', verify: { token: true }, map })).body
    const { page, seen } = await open(`sources/${hookId}`)
    await page.locator('[name=name]').fill('/full_name')
    await call('PATCH', `/v0/hooks/${hookId}`, { map: { ...map, email: ['/contact/email'] } })
    await until(
      'it is shown',
      async () => (await page.locator('[name=email]').inputValue()) === '/contact/email',
    )
    await page.getByRole('button', { name: 'Save the mapping' }).click()
    await seen('Saved.')
    t.match((await call('GET', `/v0/hooks/${hookId}`)).body.map, {
      email: ['/contact/email'],
      name: ['/full_name'],
    })
  })

  t.test(
    'a key that is refused while a dialog is open: another tenant may sign in, and Esc asks again',
    async (t) => {
      const other = await otherTenant()
      const refuse = (page: Page) =>
        page.route(
          '**/v0/webhook_endpoints',
          (route) => route.fulfill({ status: 401, body: '{"detail":"No."}' }),
          {
            times: 1,
          },
        )
      const { page, seen } = await open('webhooks')
      await page.getByRole('button', { name: 'New endpoint' }).click()
      await refuse(page)
      await seen('Sign in again to return')
      await page.getByLabel('API key').fill(other)
      await page.keyboard.press('Enter')
      await page.locator('.rail .brand', { hasText: 'Other' }).waitFor()
      t.equal(await page.locator('dialog [name=url]').count(), 1, 'what is typed stays')
      await refuse(page)
      await seen('Sign in again to return')
      await page.keyboard.press('Escape')
      await page.keyboard.press('Escape')
      await page.getByLabel('API key').fill(apiKey)
      await page.keyboard.press('Enter')
      await page.locator('.rail .brand', { hasText: 'Tenant' }).waitFor()
    },
  )

  t.test('the notice about a key that expires goes with the key, and can be dismissed', async (t) => {
    const { page } = await openConsole(t, browser, server.url, { key: await otherTenant() })
    const notice = page.getByText('Your key expires in 5 minutes.')
    await notice.waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('API key').fill(apiKey)
    await page.keyboard.press('Enter')
    await notice.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('API key').fill(await otherTenant())
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Dismiss' }).click()
    t.equal(await notice.count(), 0)
  })

  t.test('a link with another key replaces that of the tab only if the user says so', async (t) => {
    const { page } = await openConsole(t, browser, server.url)
    await page.getByLabel('API key').fill(apiKey)
    await page.getByLabel('Keep the key in this tab').check()
    await page.keyboard.press('Enter')
    await page.locator('.rail').waitFor()
    const brand = await page.locator('.rail .brand').textContent()
    const openLink = async () => {
      await page.evaluate(`location.hash = '#key=${await otherTenant()}'`)
      await page.getByText('This link contains another key than the one this tab uses.').waitFor()
      t.notMatch(page.url(), 'pp_')
    }
    await openLink()
    await page.getByRole('button', { name: 'Keep the key of this tab' }).click()
    await page.locator('.rail').waitFor()
    t.equal(await page.locator('.rail .brand').textContent(), brand)
    await openLink()
    await page.getByRole('button', { name: 'Use the key of the link' }).click()
    await page.locator('.rail .brand', { hasText: 'Other' }).waitFor()
    await page.reload()
    await page.locator('.rail .brand').waitFor()
    t.match(await page.locator('.rail .brand').textContent(), 'Other')
  })

  t.test('the name that was typed for a source stays when the vendor is chosen', async (t) => {
    const { page } = await open('sources')
    await page.getByRole('button', { name: 'Connect a source' }).click()
    await page.locator('dialog [name=source]').fill('my shop')
    await page.locator('dialog [name=vendor]').selectOption('shopify')
    t.equal(await page.locator('dialog [name=source]').inputValue(), 'my shop')
  })

  t.test(
    'a person is searched for again with the same words, and by an external id that looks like an id',
    async (t) => {
      const { page, seen } = await open('people')
      await page.locator('[name=q]').fill('later@example.com')
      await page.keyboard.press('Enter')
      await seen('No one whose name, last name or email begins like this, or who has this external id.')
      await log('later@example.com', { name: 'Later' })
      await page.getByRole('button', { name: 'Find' }).click()
      await seen('Later')
      await call('POST', '/v0/prospects', { externalId: 'prospect_4711', name: 'Pia' })
      await page.locator('[name=q]').fill('prospect_4711')
      await page.keyboard.press('Enter')
      await seen('Pia')
      t.pass('both are found')
    },
  )

  t.test('the request that logs an activity again names the same person', async (t) => {
    const { body } = await log('x@example.com', { email: undefined, externalId: 'crm-4711' })
    const { page } = await open(`activity/${body.prospectLogId}`)
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.getByRole('button', { name: 'Copy as curl' }).click()
    await page.getByText('Copied.').waitFor()
    t.match(await page.evaluate('navigator.clipboard.readText()'), '"externalId":"crm-4711"')
  })

  t.test('somebody without a name has one in the rows that come after it is known', async (t) => {
    const anonymous = (more: object) => log('', { email: undefined, externalId: 'u-1', ...more })
    await anonymous({ type: 'one' })
    const { page, seen } = await open('activity')
    await seen('no name yet')
    await anonymous({ type: 'two', name: 'Nina' })
    await seen('Nina')
    await anonymous({ type: 'three' })
    const row = page.locator('tbody tr', { hasText: 'three' })
    await row.getByText('Nina').waitFor()
    t.pass('it is shown')
  })

  t.test('what has left a full table can still be reached, even if all of it came live', async (t) => {
    const { page } = await open('activity?source=flood')
    const rows = page.locator('table.activities tbody tr')
    let sent = 0
    // Into an empty table come no more than one slice.
    for (const count of [40, 200, 200, 200]) {
      const items = Array.from({ length: count }, () => ({ source: 'flood', payload: {} }))
      await call('POST', '/v0/prospect_logs/batch', { items })
      sent += count
      await until('they are shown', async () => (await rows.count()) === Math.min(sent, 500))
    }
    await page.getByRole('button', { name: 'Continue from the oldest of 500 rows' }).click()
    await until('others are shown', async () => (await rows.count()) < 500)
    await rows.first().waitFor()
    t.match(page.url(), 'until=')
  })

  t.test('a menu that has closed says so', async (t) => {
    const { page } = await openConsole(t, browser, server.url, { key: apiKey, viewport: PHONE })
    const menu = page.getByRole('button', { name: 'Menu' })
    await menu.click()
    t.equal(await menu.getAttribute('aria-expanded'), 'true')
    await page.locator('nav [data-view=people]').click()
    await page.locator('nav').waitFor({ state: 'hidden' })
    t.equal(await menu.getAttribute('aria-expanded'), 'false')
  })

  t.test(
    'deliveries that stay as they are, because older ones were loaded, are not called live',
    async (t) => {
      const url = '/v0/webhook_endpoints'
      const { webhookEndpointId } = (await call('POST', url, { url: 'http://127.0.0.1:9/' })).body
      const items = Array.from({ length: 60 }, () => ({ source: 'crm', payload: {} }))
      await call('POST', '/v0/prospect_logs/batch', { items })
      const { page } = await open(`webhooks/${webhookEndpointId}`)
      await page.getByRole('button', { name: 'Load older' }).click()
      await page.locator('.live', { hasText: 'held while you read' }).waitFor()
      t.ok((await page.locator('main tbody tr').count()) > 50)
      await call('DELETE', `${url}/${webhookEndpointId}`)
    },
  )

  t.test('a hook has received only what came through it, whatever else has the same source', async (t) => {
    const { hookId } = (await call('POST', '/v0/hooks', { source: 'shared', verify: { token: true } })).body
    const { page, seen } = await open(`sources/${hookId}`)
    await log('beside@example.com', { source: 'shared' })
    await seen('Last activity of this source')
    await page.waitForResponse((response) => response.status() === 304)
    t.match(await page.locator('.lead').textContent(), 'waiting')
    t.match(await page.locator('.facts').first().textContent(), 'Last receivednever')
  })

  t.test('a time is typed to its end before it is looked for', async (t) => {
    const { page } = await open('activity?since=2026-11-20T10:45:00.000Z')
    await until('it is filled in', async () => (await page.locator('[name=since]').inputValue()) !== '')
    const before = await page.locator('[name=since]').inputValue()
    await page.locator('[name=since]').focus()
    await press(page, ...Array<string>(4).fill('ArrowRight'), '3')
    t.match(await page.evaluate('decodeURIComponent(location.hash)'), /since=2026-11-20T10:45/, 'not yet')
    await press(page, '0')
    t.equal(await page.locator('[name=since]').inputValue(), before.replace(/..$/, '30'))
    await press(page, 'Enter')
    const since = new Date(before.replace(/..$/, '30')).toISOString()
    await until('it is looked for', () => decodeURIComponent(page.url()).endsWith(`since=${since}`))
  })

  t.test('a change that was made is said to be made, even if the page cannot be read at once', async (t) => {
    const pageId = await newPage()
    const { page, seen } = await open(`pages/${pageGroupId}/${pageId}`)
    await seen('Readers get')
    const isPlain = (headers: Readonly<Record<string, string>>) => headers['if-none-match'] === undefined
    const busy = { status: 503, body: '{"code":"unavailable","detail":"The database is busy."}' }
    await page.route(new RegExp(`${pageId}$`), (route) =>
      isPlain(route.request().headers()) ? route.fulfill(busy) : route.continue(),
    )
    await page.getByRole('button', { name: 'Unpublish' }).click()
    await seen('Unpublished. Publish a version')
    await seen('Not live')
    t.equal(await page.getByText('The database is busy.').count(), 0)
  })

  t.test('what a receiver answered can be read to its end', async (t) => {
    const url = '/v0/webhook_endpoints'
    const { webhookEndpointId } = (await call('POST', url, { url: 'http://127.0.0.1:9/' })).body
    await log('answer@example.com')
    const [{ eventId }] = (await call('GET', `${url}/${webhookEndpointId}/deliveries`)).body.items
    const { page } = await open('webhooks')
    // The answers of receivers on this machine are not kept.
    await page.route(`**/${eventId}`, async (route) => {
      const json = await (await route.fetch()).json()
      const answer = `the signature is wrong: ${'x'.repeat(900)}`
      json.lastAttempts = [
        { at: json.createdAt, ms: 1, status: 500, error: 'The receiver answered 500.', answer },
      ]
      await route.fulfill({ json })
    })
    await page.evaluate(`location.hash = '#/webhooks/${webhookEndpointId}/${eventId}'`)
    const cell = page.locator('td', { hasText: 'the signature is wrong' })
    t.ok(await cell.evaluate(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth))
    await call('DELETE', `${url}/${webhookEndpointId}`)
  })

  t.test(
    'a page whose group is archived meanwhile says so, and offers no version until it is active again',
    async (t) => {
      const { pageGroupId: groupId } = (await call('POST', '/v0/page_groups', { name: 'a', title: 'A' })).body
      const { pageId } = (await call('POST', `/v0/page_groups/${groupId}/pages`, {})).body
      const { page, seen } = await open(`pages/${groupId}/${pageId}`)
      const create = page.getByRole('button', { name: 'New version' })
      await create.waitFor()
      await call('PATCH', `/v0/page_groups/${groupId}`, { status: 'archived' })
      await seen('The group is archived')
      t.equal(await create.count(), 0)
      await call('PATCH', `/v0/page_groups/${groupId}`, { status: 'active' })
      await create.waitFor()
    },
  )

  t.test('why the chart is not there is said, if the server cannot be reached', async (t) => {
    await log('chart@example.com')
    const { page, seen } = await open('now')
    await seen(/counted until/)
    await page.route(/prospect_log_counts/, (route) => route.abort())
    await page.getByRole('button', { name: '7 days' }).click()
    await seen('The chart is not available: The server cannot be reached.')
    t.pass('it is said')
  })

  t.test('what is resumed while a row is open is held, not live', async (t) => {
    await log('resumed@example.com')
    const { page, seen } = await open('activity')
    await page.locator('tbody .open').first().click()
    await seen('held while you read')
    await page.getByRole('button', { name: 'Pause', exact: true }).click()
    await seen('paused')
    await page.getByRole('button', { name: 'Resume', exact: true }).click()
    t.equal(await page.locator('.live').textContent(), 'held while you read')
  })
})
