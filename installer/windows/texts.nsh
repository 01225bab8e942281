; What Setup.exe and uninstall.exe say in words of our own; NSIS brings the rest. Windows' language decides.

!macro Say name english german chinese
  LangString ${name} ${LANG_ENGLISH} "${english}"
  LangString ${name} ${LANG_GERMAN} "${german}"
  LangString ${name} ${LANG_SIMPCHINESE} "${chinese}"
!macroend

!insertmacro Say StartNowText "Start now" "Jetzt starten" "立即启动"
!insertmacro Say ScopeTitle "Who will use ${NAME}?" "Wer wird ${NAME} benutzen?" "谁将使用 ${NAME}？"
!insertmacro Say ScopeSubtitle "It works the same either way." "Es arbeitet in beiden Fällen gleich." "两种方式的功能相同。"
!insertmacro Say ScopeMe "Only &me (needs no administrator)" "Nur &ich (braucht keinen Administrator)" "仅限我(&M)（不需要管理员）"
!insertmacro Say ScopeAll "&Everybody on this computer (Windows asks for an administrator's consent)" "&Alle an diesem Computer (Windows fragt nach der Zustimmung eines Administrators)" "此计算机的所有用户(&E)（Windows 会请求管理员同意）"
!insertmacro Say DesktopText "Put a link on the &desktop" "Eine Verknüpfung auf den &Desktop legen" "在桌面上创建快捷方式(&D)"
!insertmacro Say Running "${NAME} is running and did not close. Please close it and try again." "${NAME} läuft noch und ließ sich nicht schließen. Bitte schließen Sie es und versuchen Sie es noch einmal." "${NAME} 正在运行，未能关闭。请关闭后重试。"
!insertmacro Say Occupied "This folder holds other files. Please choose an empty one." "Dieser Ordner enthält andere Dateien. Bitte wählen Sie einen leeren." "此文件夹中有其他文件。请选择一个空文件夹。"
!insertmacro Say ByMsi "An MSI installed ${NAME} for everybody on this computer. Update or remove that one; this Setup does not write over it." "Ein MSI hat ${NAME} für alle an diesem Computer installiert. Aktualisieren oder entfernen Sie dieses; dieses Setup überschreibt es nicht." "此计算机上已通过 MSI 为所有用户安装 ${NAME}。请更新或删除该版本；本安装程序不会覆盖它。"
!insertmacro Say OtherCopy "${NAME} is installed here already, in $0. You may have both; each is updated and removed by itself. Install this one, too?" "${NAME} ist hier schon installiert, in $0. Beide können bleiben; jedes wird für sich aktualisiert und entfernt. Auch dieses installieren?" "此处已安装 ${NAME}，位于 $0。两者可以共存，各自更新和删除。仍要安装这一份吗？"
!insertmacro Say NotWritten "The files could not be written. What was there before is back." "Die Dateien konnten nicht geschrieben werden. Was vorher da war, ist wieder da." "无法写入文件。已恢复原来的内容。"
!insertmacro Say HistoryTitle "What ${NAME} changed" "Was ${NAME} geändert hat" "${NAME} 所做的更改"
!insertmacro Say HistorySubtitle "Your cures can stay without it, or be taken back first." "Die Änderungen können ohne ${NAME} bleiben oder vorher zurückgenommen werden." "这些更改可以保留，也可以先撤销。"
!insertmacro Say NothingHolds "Nothing that you changed with ${NAME} on this computer still holds." "Nichts, was Sie mit ${NAME} an diesem Computer geändert haben, gilt noch." "您在此计算机上使用 ${NAME} 所做的更改均已不再生效。"
!insertmacro Say OthersHave "Changes of other accounts are not touched. These have a history:" "Änderungen anderer Konten bleiben. Einen Verlauf haben:" "其他帐户的更改将保留。以下帐户有历史记录："
!insertmacro Say OthersUnknown "What other accounts changed was not looked at, and stays." "Was andere Konten geändert haben, wurde nicht angesehen und bleibt." "未检查其他帐户所做的更改，这些更改将保留。"
!insertmacro Say StillHolds "This was changed and still holds:" "Dies wurde geändert und gilt noch:" "以下更改仍然有效："
!insertmacro Say TakeBackText "&Take these changes back before ${NAME} is removed" "Diese Änderungen &zurücknehmen, bevor ${NAME} entfernt wird" "在删除 ${NAME} 之前撤销这些更改(&T)"
!insertmacro Say ForgetText "Remove the &history, too (then what was changed cannot be taken back any more)" "Auch den &Verlauf entfernen (dann lässt sich nichts mehr zurücknehmen)" "同时删除历史记录(&H)（之后将无法再撤销更改）"
!insertmacro Say NotTakenBack "Not everything could be taken back. ${NAME} stays, so that you can see why in its history." "Nicht alles ließ sich zurücknehmen. ${NAME} bleibt, damit Sie im Verlauf den Grund sehen können." "有些更改无法撤销。${NAME} 将保留，以便您在历史记录中查看原因。"
!insertmacro Say Needs64Bits "${NAME} needs a 64-bit Windows." "${NAME} braucht ein 64-Bit-Windows." "${NAME} 需要 64 位 Windows。"
