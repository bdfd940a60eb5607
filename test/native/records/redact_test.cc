#include "records/redact.h"

#include <gtest/gtest.h>

#include <ctime>
#include <initializer_list>
#include <string>
#include <utility>

#include "records/secrets.h"

namespace tap::records {
namespace {

std::string cleanText(std::string_view text) {
  std::string out;
  removeSecretTexts(text, out);
  return out;
}

std::string repeated(std::string_view text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(SecretTexts, AreFoundByTheirForm) {
  for (const std::string& secret :
       {"ptk-" + repeated("0a", 32),
        "stk-" + repeated("0a", 8),
        "tok-" + repeated("0a", 8),
        "ghp_" + repeated("a1B2", 9),
        "gho_" + repeated("a", 20),
        "github_pat_" + repeated("a1_", 8),
        "sk-proj-" + repeated("a1B2", 8),
        "rk_live_" + repeated("a", 20),
        std::string("AKIAIOSFODNN7EXAMPLE"),
        std::string("ASIAIOSFODNN7EXAMPLE"),
        "glpat-" + repeated("a1B2", 5),
        "npm_" + repeated("a1B2", 9),
        "glrt-" + repeated("a1B2", 5),
        "ya29." + repeated("a1B2", 9),
        "GOCSPX-" + repeated("a1B2", 7),
        "SG." + repeated("a1B2", 5) + "." + repeated("a1B2", 10),
        "hvs." + repeated("a1B2", 6),
        "pypi-" + repeated("a1B2", 12),
        "dckr_pat_" + repeated("a1B2", 6),
        "dop_v1_" + repeated("0a", 32),
        "shpat_" + repeated("0a", 16),
        "whsec_" + repeated("a1B2", 8),
        "AGE-SECRET-KEY-1" + repeated("A1", 20),
        "xoxc-" + repeated("1", 10),
        "xoxd-" + repeated("1", 10),
        "hf_" + repeated("a", 20),
        "MTIzNDU2Nzg5MDEyMzQ1Njc4." + std::string("GaBcDe.") + repeated("aB1-", 9),
        "AIza" + repeated("a1B2", 9),
        "xapp-1-" + repeated("A1", 10),
        "xoxb-" + repeated("1", 10),
        std::string("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl"),
        std::string("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----"),
        std::string("-----BEGIN PRIVATE KEY-----\nMIIE")}) {
    EXPECT_EQ(cleanText("curl -H 'x: " + secret + "' https://x"),
              secret.starts_with("-----BEGIN PRIVATE") ? "curl -H 'x: <removed>"
                                                       : "curl -H 'x: <removed>' https://x")
        << secret;
    EXPECT_EQ(cleanText(secret), "<removed>") << secret;
  }
}

TEST(SecretTexts, AreTokensOfMessengers) {
  const std::string token = "AA" + repeated("aB1-_", 7);
  EXPECT_EQ(cleanText("https://api.telegram.org/bot123456789:" + token + "/getMe"),
            "https://api.telegram.org/bot123456789:<removed>/getMe");
  EXPECT_EQ(cleanText("run 123456789:" + token), "run 123456789:<removed>");
  EXPECT_EQ(cleanText("https://discord.com/api/webhooks/123456789/" + token),
            "https://discord.com/api/webhooks/123456789/<removed>");
  for (const char* text : {"at 123456:AAbb", "MTIz.abc.def", "a:AA"}) {
    EXPECT_EQ(cleanText(text), text);
  }
}

TEST(SecretTexts, KeepWhatOnlyResemblesThem) {
  for (const std::string& text :
       {std::string("task-" + repeated("a", 30)), std::string("ptk-0a0a"),
        "xghp_" + repeated("a", 30), std::string("AKIAIOSFODNN7EXAMPLEX"),
        std::string("-eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2ln"), std::string("eyJ.eyJ.x"),
        std::string("Bearer of news"), std::string("Bearer      abcdefghij"),
        std::string("monkey=banana"), std::string("key= x"),
        std::string("http://localhost:9400/a:b@c"),
        std::string("-----BEGIN CERTIFICATE-----\nMIIE"), std::string("\"code\": 123456"),
        std::string("\"code\": \"12345\""), std::string("a_token_=x"), std::string("")}) {
    EXPECT_EQ(cleanText(text), text);
  }
}

TEST(SecretTexts, KeepWhatStandsAroundThem) {
  EXPECT_EQ(cleanText("postgres://ada:hunter2@db/x"), "postgres://ada:<removed>@db/x");
  EXPECT_EQ(cleanText("Authorization: bEARER   abcdefghij"), "Authorization: bEARER <removed>");
  EXPECT_EQ(cleanText("https://x/?a=1&Access_Token=abc&b=2"),
            "https://x/?a=1&Access_Token=<removed>&b=2");
  EXPECT_EQ(cleanText("refreshtoken=a b"), "refreshtoken=<removed> b");
  EXPECT_EQ(cleanText("https://hooks.slack.com/services/T0/B0/abcdef!"),
            "https://hooks.slack.com/services/<removed>!");
  EXPECT_EQ(cleanText(R"({"code" : "123456"})"), R"({"code" : "<removed>"})");
  EXPECT_EQ(cleanText("ghp_" + repeated("a", 20) + " and sk-" + repeated("b", 20)),
            "<removed> and <removed>");
}

TEST(SecretTexts, AreFoundBesideTheirNames) {
  for (const char* text :
       {"GITHUB_TOKEN=hunter2",
        "AWS_SECRET_ACCESS_KEY=hunter2",
        "export DB_PASSWORD='hunter2'",
        "password=\"hunter2\"",
        "token = \"hunter2\"",
        "PGPASSWORD=hunter2 psql",
        "?client_secret=hunter2&x=1",
        "//registry/:_authToken=hunter2",
        "AccountKey=hunter2==",
        "password: hunter2",
        "a:\n  - api_key: hunter2\nb: 1",
        "db:\n  password: \"hunter2\"",
        "Result: {\"password\": \"hunter2\"}",
        R"(x {\"password\":\"hunter2\",\"a\":1)",
        R"("{\\\"apiKey\\\": \\\"hunter2\\\"}")",
        "Authorization: token hunter2",
        "> Cookie: a=hunter2; b=hunter2",
        "curl -H 'X-Api-Key: hunter2' https://x",
        "login --password hunter2 --user ada",
        "login --token \"hunter2\"",
        R"(sent {"client_secret": "a\"hunter2"})",
        "{\"password\": \"hunter2 and no end",
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nhunter2\n-----END PGP PRIVATE KEY BLOCK-----"}) {
    EXPECT_EQ(cleanText(text).find("hunter2"), std::string::npos) << cleanText(text);
    EXPECT_NE(cleanText(text).find("<removed>"), std::string::npos) << text;
  }
  EXPECT_EQ(cleanText(R"({"password": "x", "city": "Oslo"} token_count=5)"),
            R"({"password": "<removed>", "city": "Oslo"} token_count=5)");
  EXPECT_EQ(cleanText("A_TOKEN='x y' B=2"), "A_TOKEN='<removed>' B=2");
  for (const char* text :
       {"Unexpected token: abcdef", "tokens: 1234", "tokens=1234", "pass=3 fail=1",
        "password_file=/etc/x", "--token <TOKEN>", "--password-file abcdef", "token_count: 12345",
        "const token = read();", "\"tokens\": 12", "the --token to", "a key: abcdef",
        "\"key\": \"abcdef\"", "compass: north", "password: "}) {
    EXPECT_EQ(cleanText(text), text);
  }
}

TEST(SecretTexts, AreFoundInColours) {
  const std::string token = "ghp_" + repeated("a1B2", 9);
  const std::string green = "\x1b[32m";
  const std::string end = "\x1b[0m";
  for (const auto& [text, cleaned] : std::initializer_list<std::pair<std::string, std::string>>{
           {green + token + end, green + "<removed>" + end},
           {"\x1b[1;38;5;208m" + green + token, "\x1b[1;38;5;208m" + green + "<removed>"},
           {green + "password: hunter22", green + "password: <removed>"},
           {green + "password" + end + ": hunter22", green + "password" + end + ": <removed>"},
           {green + "+  password: hunter22", green + "+  password: <removed>"},
           {"\n+" + green + "password: hunter22", "\n+" + green + "password: <removed>"},
           {"\x1b[34;1m\"password\"" + end + ": " + green + "\"hunter22\"" + end,
            "\x1b[34;1m\"password\"" + end + ": " + green + "\"<removed>\"" + end},
           {green + "API_KEY" + end + "=abcd1234", green + "API_KEY" + end + "=<removed>"},
           {"API_KEY=" + green + "abcd1234", "API_KEY=" + green + "<removed>"},
       }) {
    EXPECT_EQ(cleanText(text), cleaned);
  }
  for (const std::string& text : std::initializer_list<std::string>{
           "32m" + token, "[32m" + token, "\x1b[32" + token, "\x1b[;x;m" + token,
           "x" + green + "mpassword: is", std::string("\x1b[") + repeated("1", 40) + "m" + token}) {
    EXPECT_EQ(cleanText(text), text);
  }
}

TEST(SecretTexts, AreFoundInAChange) {
  EXPECT_EQ(cleanText("@@ -1 +1 @@\n+  password: hunter22\n-\ttoken: abcd1234\n"),
            "@@ -1 +1 @@\n+  password: <removed>\n-\ttoken: <removed>\n");
}

TEST(SecretTexts, AreFoundInConfigFiles) {
  EXPECT_EQ(cleanText("token = abc"), "token = <removed>");
  EXPECT_EQ(cleanText("[x]\naws_secret_access_key = wJalrXUtnFEMI/K7MDENG\nregion = x"),
            "[x]\naws_secret_access_key = <removed>\nregion = x");
  EXPECT_EQ(cleanText("password = correct-horse  # mine"), "password = <removed>  # mine");
  EXPECT_EQ(cleanText("{user: 'ada', password: \"hunter2\"}"),
            "{user: 'ada', password: \"<removed>\"}");
  EXPECT_EQ(cleanText("connect({password : 'hunter2'})"), "connect({password : '<removed>'})");
  EXPECT_EQ(cleanText("login with password: \"hunter2\" now"),
            "login with password: \"<removed>\" now");
  EXPECT_EQ(cleanText("x={password:\"hunter2\"}"), "x={password:\"<removed>\"}");
  for (const char* text :
       {"token = read();", "token = None", "token = self.token", "password = getpass()",
        "token = $TOKEN", "token = next(it)", "x = token = abc", "const token = abc",
        "max_tokens = 4000", "max_tokens=4000", "tokens: 1000", "maxTokens: 4000", "pass = 3",
        "if (token == \"\")", "Unexpected token: \"}\"", "a ? token : \"abcdef\"",
        "token = abc def"}) {
    EXPECT_EQ(cleanText(text), text);
  }
}

TEST(SecretTexts, AreFoundInCommandsOfCurl) {
  EXPECT_EQ(cleanText("curl -u ada:hunter2 https://x"), "curl -u ada:<removed> https://x");
  EXPECT_EQ(cleanText("curl -s -uada:hunter2 https://x"), "curl -s -uada:<removed> https://x");
  EXPECT_EQ(cleanText("curl --user 'ada:hunter 2' x"), "curl --user 'ada:<removed>' x");
  EXPECT_EQ(cleanText("$ curl -L \\\n  --proxy-user ada:hunter2 \\\n  -u ada:hunter2"),
            "$ curl -L \\\n  --proxy-user ada:<removed> \\\n  -u ada:<removed>");
  EXPECT_EQ(cleanText("curl --user=ada:hunter2 x"), "curl --user=ada:<removed> x");
  for (const char* text :
       {"docker run -u 1000:1000 x", "curl x\nid -u a:b", "curl -u ada x", "curl -u ada: x",
        "rsync -u a:b c", "systemctl --user start a:b", "-u a:b"}) {
    EXPECT_EQ(cleanText(text), text);
  }
}

TEST(SecretTexts, AreFoundInOptionsOfPrograms) {
  EXPECT_EQ(cleanText("mysql -u root -phunter2 db"), "mysql -u root -p<removed> db");
  EXPECT_EQ(cleanText("mysqldump --all -p'hunter 2' x"), "mysqldump --all -p'<removed>' x");
  EXPECT_EQ(cleanText("$ mariadb \\\n  -phunter2"), "$ mariadb \\\n  -p<removed>");
  EXPECT_EQ(cleanText("sshpass -phunter2 ssh x"), "sshpass -p<removed> ssh x");
  EXPECT_EQ(cleanText("sshpass -p hunter2 ssh -p 22 x"), "sshpass -p <removed> ssh -p 22 x");
  EXPECT_EQ(cleanText("docker login -u ada -p hunter2 r"), "docker login -u ada -p <removed> r");
  for (const char* text : {"mkdir -pv a", "ssh -p2222 x", "cp -pr a b", "mysql -p db",
                           "mysql x\nls -px", "docker run -p 80:80 x", "-phunter2"}) {
    EXPECT_EQ(cleanText(text), text);
  }
}

TEST(SecretTexts, AreBlocksOfYaml) {
  EXPECT_EQ(cleanText("db:\n  password: |\n    hunter2\n\n    more\n  user: ada"),
            "db:\n  password: |\n    <removed>\n  user: ada");
  EXPECT_EQ(cleanText("api_key: >-\n  hunter2"), "api_key: >-\n  <removed>");
  EXPECT_EQ(cleanText("- token: |2\n    hunter2\n- x: 1"), "- token: |2\n    <removed>\n- x: 1");
  for (const char* text : {"text: |\n  hunter2", "password: |\nhunter2", "password: |"}) {
    EXPECT_EQ(cleanText(text), text);
  }
}

TEST(SecretTexts, AreFoundInANetrc) {
  EXPECT_EQ(cleanText("machine x login ada password hunter2"),
            "machine x login ada password <removed>");
  EXPECT_EQ(cleanText("machine x\n  login ada\n  password hunter2\nmachine y"),
            "machine x\n  login ada\n  password <removed>\nmachine y");
  EXPECT_EQ(cleanText("machine x password hunter2 login ada"),
            "machine x password <removed> login ada");
  EXPECT_EQ(cleanText("machine x login ada account b password hunter2"),
            "machine x login ada account b password <removed>");
  EXPECT_EQ(cleanText("default login ada password hunter2"),
            "default login ada password <removed>");
  for (const char* text :
       {"the login page password reset", "a password reset", "the default login has password x",
        "machine readable password rules", "password", "machine x login ada password"}) {
    EXPECT_EQ(cleanText(text), text);
  }
}

TEST(SecretTexts, AreFoundInHeadersAndAddresses) {
  EXPECT_EQ(cleanText("Authorization: Basic YTpi"), "Authorization: Basic <removed>");
  EXPECT_EQ(cleanText("'authorization' => 'Basic YTpi'"), "'authorization' => 'Basic <removed>'");
  EXPECT_EQ(cleanText("got Basic YWRhOmh1bnRlcjI= back"), "got Basic <removed> back");
  EXPECT_EQ(cleanText("Proxy-Authorization: Bearer abcdefgh"),
            "Proxy-Authorization: Bearer <removed>");
  EXPECT_EQ(cleanText("https://ada:p@ss@host/x"), "https://ada:<removed>@host/x");
  EXPECT_EQ(cleanText("git clone https://0123456789abcdef0123@host/x"),
            "git clone https://<removed>@host/x");
  for (const char* text : {"Basic knowledge of it", "basic understanding.", "a bearer certificate",
                           "BASIC INSTRUCTIONS", "the basic cross-platform way",
                           "ssh://git@github.com/a/b", "https://ada@host/x"}) {
    EXPECT_EQ(cleanText(text), text);
  }
}

TEST(SecretTexts, AreWholeKeysWithHeadersOfTheirOwn) {
  EXPECT_EQ(cleanText("x\n-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n"
                      "DEK-Info: AES-128-CBC,00\n\nMIIEhunter2\n-----END RSA PRIVATE KEY-----\ny"),
            "x\n<removed>\ny");
  EXPECT_EQ(cleanText("-----BEGIN OPENSSH PRIVATE KEY-----\\nb3Bl\\n"
                      "-----END OPENSSH PRIVATE KEY-----\\n"),
            "<removed>\\n");
}

TEST(SecretTexts, AreLinesOfAKey) {
  const std::string line = repeated("MIIEvQ+1", 8);
  EXPECT_EQ(cleanText(line), "<removed>");
  EXPECT_EQ(cleanText("tail: " + line + "\n"), "tail: <removed>\n");
  for (const std::string& text : {repeated("0123abcd", 8), line + "0", "integrity sha512-" + line,
                                  line + " and more", repeated("../a1/B2", 8) + ".cc"}) {
    EXPECT_EQ(cleanText(text), text);
  }
}

TEST(SecretTexts, AreRemovedHoweverLongTheyAre) {
  const std::string value = repeated("a\\\"b'", 300'000);
  for (const std::string& text : {"password=\"" + value, "-----BEGIN PRIVATE KEY-----" + value,
                                  "password: |\n  a" + repeated("\n  b", 300'000)}) {
    EXPECT_EQ(cleanText("x\n" + text).find('b', 30), std::string::npos) << text.substr(0, 40);
  }
}

TEST(SecretTexts, TakeTimeInProportion) {
  for (const char* piece : {"-eyJaaaaaaaaaa",
                            "eyJaaaaaaaaaa.",
                            "sk-",
                            "xoxb-",
                            "ptk-0",
                            "gho_a",
                            "-----BEGIN PRIVATE KEY-----",
                            "-----BEGIN ",
                            "://a:",
                            "://a",
                            "token=",
                            "Bearer  ",
                            "\"code\" : ",
                            "password: ",
                            "a_token=\"",
                            "--token ",
                            "\\\\\\\"password\\\":",
                            "=",
                            ":",
                            "--",
                            "\n",
                            "\"token\":\"\\",
                            "[",
                            "{\"a\":",
                            "AKIA",
                            "curl -u a:",
                            " -u",
                            "-u a ",
                            "--user ",
                            "machine a login b password ",
                            "login password ",
                            "password ",
                            "\ntoken = ",
                            "token : \"",
                            "Basic YTpi",
                            "mysql -p",
                            "mysql ",
                            "password: |\n  a\n",
                            "\n password: |",
                            "123456:AA",
                            "MTAa.",
                            "authorization: Basic ",
                            "://a:b@",
                            "://a@",
                            "b",
                            "-"}) {
    const std::string text =
        repeated(piece, static_cast<int>(1'000'000 / std::string(piece).size()));
    // Of this process alone: others may have the processor meanwhile.
    const std::clock_t start = std::clock();
    (void)cleanText(text);
    EXPECT_LT(std::clock() - start, 5 * CLOCKS_PER_SEC) << piece;
  }
}

TEST(SecretNames, AreFoundInAnySpelling) {
  for (const char* name : {"token",        "access_token",  "TOKEN",
                           "clientSecret", "password",      "passwd",
                           "apiKey",       "api_key",       "API-KEY",
                           "x-api-key",    "Authorization", "cookie",
                           "set-cookie",   "privateKey",    "credentials",
                           "PGPASSWORD",   "pwd",           "jwt",
                           "accessKey",    "session_key",   "connectionString",
                           "DB_PASSWORD",  "authtoken",     "passphrase",
                           "secrets",      "tokens",        "tokens_used"}) {
    EXPECT_TRUE(namesSecret(name)) << name;
  }
  for (const char* name : {"author", "keyboard", "secretary", "key", "city", "monkey", "", "_",
                           "stringConnection", "compass", "passenger"}) {
    EXPECT_FALSE(namesSecret(name)) << name;
  }
}

TEST(Redactor, RemovesValuesOfSecretNames) {
  EXPECT_EQ(redactJson(R"({"a":[{"password":"x","city":"Oslo"}]})"),
            R"({"a":[{"password":"<removed>","city":"Oslo"}]})");
  EXPECT_EQ(redactJson(R"({"cookies":["a"],"credentials":{"user":"ada"},"otp":123456})"),
            R"({"cookies":"<removed>","credentials":"<removed>","otp":"<removed>"})");
  EXPECT_EQ(redactJson(R"({"token":null,"auth":true,"secret":""})"),
            R"({"token":null,"auth":true,"secret":""})");
  EXPECT_EQ(redactJson(R"({"tokens":12,"tokens_used":7,"tokens2":"x"})"),
            R"({"tokens":12,"tokens_used":7,"tokens2":"x"})");
  EXPECT_EQ(redactJson(R"({"max_tokens":"4000","token":"4000"})"),
            R"({"max_tokens":"4000","token":"<removed>"})");
  EXPECT_EQ(redactJson(R"([{"name":"DB_PASSWORD","value":"x"},{"key":"city","value":"Oslo"}])"),
            R"([{"name":"DB_PASSWORD","value":"<removed>"},{"key":"city","value":"Oslo"}])");
  EXPECT_EQ(redactJson(R"({"pass\u0077ord":"x"})"), R"({"pass\u0077ord":"<removed>"})");
}

TEST(Redactor, RemovesSecretsFromNames) {
  const std::string token = "ghp_" + repeated("a1B2", 9);
  EXPECT_EQ(redactJson("{\"users\":{\"" + token + "\":\"ada\",\"a \\\" long name\":1}}"),
            R"({"users":{"<removed>":"ada","a \" long name":1}})");
}

TEST(Redactor, RemovesAKeyThatIsSpreadOverAList) {
  EXPECT_EQ(redactJson(R"(["-----BEGIN RSA PRIVATE KEY-----","Proc-Type: 4,ENCRYPTED","","MIIE",)"
                       R"("c2g=","-----END RSA PRIVATE KEY-----","city"])"),
            R"(["<removed>","<removed>","","<removed>","<removed>","<removed>","city"])");
  EXPECT_EQ(
      redactJson(R"({"lines":[{"text":"x -----BEGIN PRIVATE KEY-----\nMI"},{"text":"c2g="},)"
                 R"({"text":"-----END PRIVATE KEY----- done"}],"n":"Oslo"})"),
      R"({"lines":[{"text":"x <removed>"},{"text":"<removed>"},{"text":"<removed> done"}],"n":"Oslo"})");
  // Its end is missing: the first text that is not a part of a key ends it.
  EXPECT_EQ(redactJson(R"(["-----BEGIN PRIVATE KEY-----","MIIE","{done}","MIIE"])"),
            R"(["<removed>","<removed>","{done}","MIIE"])");
}

TEST(Redactor, KeepsASchema) {
  const std::string schema =
      R"({"properties":{"token":{"type":"string","description":"The token."}}})";
  EXPECT_EQ(redactJson(schema), schema);
}

TEST(Redactor, LooksIntoJsonInTexts) {
  EXPECT_EQ(redactText(R"({"password":"x","city":"Oslo"})"),
            R"({"password":"<removed>","city":"Oslo"})");
  EXPECT_EQ(redactText(R"({ "city": "Oslo" })"), R"({ "city": "Oslo" })");
  EXPECT_EQ(redactText("[not json"), "[not json");
  EXPECT_EQ(redactJson(R"({"text":"{ \"pwd\": \"x\" }"})"),
            R"({"text":"{\"pwd\":\"<removed>\"}"})");
  EXPECT_EQ(redactJson(R"({"text":"{ \"a\": 1 }"})"), R"({"text":"{ \"a\": 1 }"})");
}

TEST(Redactor, MakesAStringOfWhatIsNotJson) {
  EXPECT_EQ(redactJson("key=abc"), R"("key=<removed>")");
  EXPECT_EQ(redactJson(""), R"("")");
  const std::string deep = repeated("[", 200) + repeated("]", 200);
  EXPECT_EQ(redactJson(deep), "\"" + deep + "\"");
}

TEST(Redactor, StopsWhereThereIsNoRoom) {
  std::string text = "[";
  for (int i = 0; i < 10'000; ++i) text += "1,";
  text.back() = ']';
  json::Scanner scanner;
  const auto root = scanner.scan(text);
  ASSERT_TRUE(root);
  std::string out;
  Redactor(out, 100).value(root.value());
  EXPECT_LT(out.size(), 120u);
}

}  // namespace
}  // namespace tap::records
