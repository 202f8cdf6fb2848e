import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { startBrowser, whyNoBrowser } from './browser.ts'
import { caller, embeddedDatabase, newFolder, seed, startServer } from './program.ts'

/** Why the console cannot be opened here, for a test to be skipped. */
export const noConsole = whyNoBrowser() ?? false

export const WIDE = { width: 1_280, height: 900 }
export const TABLET = { width: 768, height: 900 }
export const PHONE = { width: 320, height: 700 }
export const VIEWS = [
  'now',
  'report',
  'activity',
  'people',
  'pages',
  'sources',
  'webhooks',
  'events',
] as const

/** A server with one tenant, and a browser. */
export const startConsole = async (t: Test, env: Readonly<Record<string, string>> = {}) => {
  const database = embeddedDatabase(`${newFolder(t)}/test.db`)
  const seeded = await seed(database.env)
  const server = await startServer(t, { ...database.env, WEBHOOKS_ALLOWED_HOSTS: '127.0.0.1', ...env })
  const browser = await startBrowser()
  t.teardown(() => browser.close())
  return { ...seeded, ...database, server, browser, call: caller(server.url, seeded.apiKey) }
}

let started: ReturnType<typeof startConsole> | undefined
/** The server and the browser of this file, which its tests share, each with its tenant. */
export const openScene = async () => {
  started ??= startConsole(t)
  const { env, server, browser } = await started
  const seeded = await seed(env)
  return { ...seeded, env, server, browser, call: caller(server.url, seeded.apiKey) }
}

type Opening = BrowserContextOptions & {
  /** The key in the link; none: the form asks for it. */
  readonly key?: string
  /** Answers of the console that are expected to be refused, by status. */
  readonly refused?: readonly number[]
}
/** The console in a separate window, and all errors while it was open. */
export const openConsole = async (t: Test, browser: Browser, url: string, opening: Opening = {}) => {
  const { key, refused = [], ...options } = opening
  const context = await browser.newContext({ viewport: WIDE, ...options })
  t.teardown(() => context.close())
  const page = await context.newPage()
  page.setDefaultTimeout(20_000)
  const wrong: string[] = []
  const isExpected = (text: string) => refused.some((status) => text.includes(`status of ${status}`))
  page.on('console', (message) => {
    const isBad = ['error', 'warning'].includes(message.type())
    if (isBad && !isExpected(message.text()))
      wrong.push(`console: ${message.text()} ${message.location().url}`)
  })
  page.on('pageerror', ({ message }) => wrong.push(`thrown: ${message}`))
  page.on('request', (request) => {
    if (!request.url().startsWith(`${url}/`)) wrong.push(`to another host: ${request.url()}`)
  })
  await page.goto(`${url}/console/${key === undefined ? '' : `#key=${key}`}`)
  if (key !== undefined) await page.locator('main .view').waitFor()
  return { page, wrong, context }
}

/**
 * A server with one tenant and the console in one window, which the tests of a file use one after the other: loading the
 * console again for each test takes too long. They start with the first test that opens a view.
 */
export const sharedConsole = (opening: Opening = {}) => {
  const start = async () => {
    const scene = await startConsole(t)
    const key = scene.apiKey
    const window = await openConsole(t, scene.browser, scene.server.url, { key, ...opening })
    const { page } = window
    /** Waits until a text is on the page. */
    const shows = (text: string | RegExp) => page.getByText(text).first().waitFor()
    /** Logs an activity of the source `crm`, unless it says otherwise. */
    const log = (activity: object) =>
      scene.call('POST', '/v0/prospect_logs', { source: 'crm', payload: {}, ...activity })
    return { ...scene, ...window, shows, log }
  }
  let started: ReturnType<typeof start> | undefined
  const scene = () => {
    started ??= start()
    return started
  }
  return {
    /** The scene without a change of the view. */
    scene,
    /** Goes to a view, and forgets the errors of earlier tests. */
    open: async (address: string) => {
      const opened = await scene()
      opened.wrong.length = 0
      await goTo(opened.page, address)
      return opened
    },
    /** Ends what a test began, and shows a list that is not live. */
    leave: async () => {
      if (started === undefined) return
      const { page } = await started
      await page.unrouteAll({ behavior: 'ignoreErrors' })
      await page.evaluate(`
        for (const dialog of document.querySelectorAll('dialog[open]')) dialog.close()
        document.querySelector('#notices').replaceChildren()
        location.hash = '#/pages'
      `)
    },
  }
}

/** Goes to a view, and waits until it is shown. */
export const goTo = async (page: Page, address: string): Promise<void> => {
  const hash = JSON.stringify(`#/${address}`)
  await page.evaluate(`if (location.hash !== ${hash}) {
    document.querySelector('main .view')?.setAttribute('data-left', '')
    location.hash = ${hash}
  }`)
  await page.locator('main .view:not([data-left])').waitFor()
}

/** Controls that a person who does not see them cannot tell apart from others. */
export const namelessIn = async (page: Page): Promise<string[]> => {
  const snapshot = await page.locator('body').ariaSnapshot()
  const controls = /^\s*- (button|link|textbox|combobox|checkbox|searchbox|spinbutton)(?! ")/
  return snapshot.split('\n').filter((line) => controls.test(line))
}
/** Nothing reaches past the edge of the window, so that no reader has to scroll sideways. */
export const fits = (page: Page) => page.evaluate('document.documentElement.scrollWidth <= innerWidth')

/** Texts that stand out too little from what is behind them: WCAG 2.2 asks for 4.5. Disabled ones may. */
export const paleIn = (page: Page) =>
  page.evaluate<string[]>(`(() => {
    const parts = (colour) => {
      const [r, g, b, a = 1] = colour.match(/[\\d.]+/g).map(Number)
      return colour.startsWith('color(') ? [r * 255, g * 255, b * 255, a] : [r, g, b, a]
    }
    const over = ([r, g, b, a], below) => [r, g, b].map((part, i) => part * a + below[i] * (1 - a))
    const light = (colour) => {
      const [r, g, b] = colour.map((part) => (part <= 10 ? part / 3294 : ((part / 255 + 0.055) / 1.055) ** 2.4))
      return 0.2126 * r + 0.7152 * g + 0.0722 * b
    }
    const known = new Map([[null, { behind: [255, 255, 255], opacity: 1 }]])
    const aboutOf = (element) => {
      if (!known.has(element)) {
        const up = aboutOf(element.parentElement)
        const { backgroundColor, color, opacity } = getComputedStyle(element)
        const behind = over(parts(backgroundColor), up.behind)
        known.set(element, { behind, opacity: up.opacity * opacity, color })
      }
      return known.get(element)
    }
    const contrastOf = (element) => {
      const { behind, opacity, color } = aboutOf(element)
      const [r, g, b, a] = parts(color)
      const [less, more] = [light(over([r, g, b, a * opacity], behind)), light(behind)].sort((x, y) => x - y)
      return (more + 0.05) / (less + 0.05)
    }
    return [...document.querySelectorAll('#app *')]
      .filter((one) => [...one.childNodes].some(({ nodeType, data }) => nodeType === 3 && data.trim()))
      .filter((one) => one.checkVisibility() && !one.closest('svg, option, .unseen, .skip, [aria-disabled], :disabled'))
      .filter((one) => contrastOf(one) < 4.5)
      .map((one) => one.className + ' ' + one.textContent.slice(0, 40) + ' ' + contrastOf(one).toFixed(2))
  })()`)

/** Presses Tab until the focus is on something that matches. */
export const tabTo = async (page: Page, what: string): Promise<void> => {
  for (let pressed = 0; pressed < 120; pressed++) {
    if (await page.evaluate(`document.activeElement.matches(${JSON.stringify(what)})`)) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`the tab key never reaches ${what}`)
}
/** The same for a control with this text. */
export const tabToText = async (page: Page, text: string): Promise<void> => {
  for (let pressed = 0; pressed < 120; pressed++) {
    if ((await page.evaluate('document.activeElement.textContent.trim()')) === text) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`the tab key never reaches ${text}`)
}
export const press = async (page: Page, ...keys: readonly string[]): Promise<void> => {
  for (const key of keys) await page.keyboard.press(key)
}
t.setTimeout(0)
