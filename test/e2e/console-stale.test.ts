import t from 'tap'
import { noConsole, openConsole, startConsole } from '../support/console.ts'
import { until } from '../support/program.ts'

t.test('what is shown is what is so now', { skip: noConsole }, async (t) => {
  const { server, browser, call, apiKey, pageGroupId } = await startConsole(t)
  const open = async (address: string) => {
    const { page } = await openConsole(t, browser, server.url, { key: apiKey, refused: [404, 409, 410, 503] })
    await page.evaluate(`location.hash = '#/${address}'`)
    return { page, seen: (text: string | RegExp) => page.getByText(text).first().waitFor() }
  }
  const pages = `/v0/page_groups/${pageGroupId}/pages`
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
      t.match(await second.innerText(), 'published')
      t.equal(await page.getByRole('button', { name: 'Unschedule' }).count(), 0)
      await page.getByRole('button', { name: 'Roll back' }).click()
      await seen('Readers get version 1 now.')
      await second.getByText('published before').waitFor()
    },
  )
})
